/** The environment that records a history: a nats-server, the shipped service, and a plain NATS client. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Decision } from '../../../machines/index.ts';
import { openClient } from '../../support/client.ts';
import { cleanEnv } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { openReceiver } from '../../support/receiver.ts';
import { endService, type Service, serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';

/** The reply of a served check. undefined sends no reply, so that the check stays open. */
export type CheckReply = object | undefined;

export type Stage = {
  /** Stores an entry. The subject starts after `stopgate.main.`. A text is stored unchanged. */
  entry(tail: string, data?: object | string | Uint8Array): Promise<void>;
  /** @throws Error if the service refuses to decide */
  decide(worker: string, body?: object): Promise<Decision>;
  /** Sends any other request. An error reply is returned like any answer. */
  ask(tail: string, body?: object): Promise<unknown>;
  /**
   * Resolves when this number of entries, decisions, dead letters or requests to a served check was published since the
   * start.
   */
  seen(tail: string, count?: number): Promise<void>;
  /** Serves a remote check. Each request gets the next reply; the last one is repeated. */
  serve(check: string, ...replies: readonly CheckReply[]): Promise<void>;
  /** Replaces stopgate.yaml, and waits until its policies are in force. */
  configure(config: object): Promise<void>;
  /** Writes a file into the folder that the checks of the service examine. */
  write(name: string, text: string): Promise<void>;
  /** Lets real time pass, because the log has real timestamps. */
  pass(ms: number): Promise<void>;
  /** Runs git in that folder. */
  git(...args: readonly string[]): Promise<void>;
  /** Starts one more replica. */
  start(replica: string): Promise<void>;
  /** Ends a replica by SIGKILL. */
  kill(replica: string): Promise<void>;
  /** Ends everything. @returns the log as `stopgate export` prints it */
  close(): Promise<string>;
};

const run = promisify(execFile);
const author = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];

/** Longer than the 2 minutes after which a worker is stale (protocol.md §4). */
const seenTimeoutMs = 180_000;
const decideTimeoutMs = 60_000;

/** @param configOf returns the stopgate.yaml, given the URL of a webhook that accepts everything */
export async function openStage(configOf: (webhook: string) => object): Promise<Stage> {
  const nats = await startNatsServer();
  const receiver = await openReceiver();
  const folder = await makeFolder({ 'stopgate.yaml': JSON.stringify(configOf(receiver.url)) });
  const client = await openClient(nats.url);
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  const note = (tail: string) => {
    counts.set(tail, (counts.get(tail) ?? 0) + 1);
    for (const look of waiting) look();
  };
  // Not all subjects: a check that nobody serves must have no responder.
  for (const head of ['worker', 'task', 'queue', 'own', 'decision', 'dead'])
    client.nc.subscribe(`stopgate.main.${head}.>`, {
      callback: (_, { subject }) => note(subject.slice('stopgate.main.'.length)),
    });
  await client.nc.flush();
  const services = new Map<string, Service>();
  const start = async (replica: string) => {
    const line = ['serve', '--nats', nats.url, '--http', '127.0.0.1:0', '--replica', replica];
    services.set(replica, await serveShipped(line, folder.path));
  };
  const seen: Stage['seen'] = (tail, count = 1) =>
    new Promise((resolve, reject) => {
      const end = () => {
        waiting.delete(look);
        clearTimeout(late);
      };
      const look = () => {
        if ((counts.get(tail) ?? 0) < count) return;
        end();
        resolve();
      };
      const late = setTimeout(() => {
        end();
        reject(new Error(`${tail} was published ${counts.get(tail) ?? 0} times, not ${count}`));
      }, seenTimeoutMs);
      waiting.add(look);
      look();
    });
  await start('r1');
  return {
    entry: async (tail, data = {}) => {
      if (data instanceof Uint8Array) await client.nc.request(`stopgate.main.${tail}`, data);
      else await client.publish(tail, data);
    },
    async decide(worker, body = {}) {
      const { code, body: decision } = await client.ask(`decide.${worker}`, body, decideTimeoutMs);
      if (code !== '') throw new Error(`decide ${worker}: ${code} ${JSON.stringify(decision)}`);
      return decision;
    },
    ask: async (tail, body) => (await client.ask(tail, body, decideTimeoutMs)).body,
    seen,
    async serve(check, ...replies) {
      let asked = 0;
      client.nc.subscribe(`stopgate.main.check.${check}`, {
        queue: 'stopgate-check',
        callback: (_, message) => {
          const reply = replies[Math.min(asked, replies.length - 1)];
          asked += 1;
          note(`check.${check}`);
          if (reply !== undefined) message.respond(JSON.stringify(reply));
        },
      });
      await client.nc.flush();
    },
    async configure(config) {
      const tail = 'own.fleet.main.policy.set';
      const before = counts.get(tail) ?? 0;
      await folder.write('stopgate.yaml', JSON.stringify(config));
      await seen(tail, before + 1);
    },
    write: async (name, text) => void (await folder.write(name, text)),
    pass: sleep,
    git: async (...args) =>
      void (await run('git', [...author, ...args], { cwd: folder.path, env: cleanEnv(folder.path) })),
    start,
    async kill(replica) {
      await services.get(replica)?.kill('SIGKILL');
      services.delete(replica);
    },
    async close() {
      try {
        for (const service of services.values()) await endService(service);
        const { code, stdout, stderr } = await runShipped(['export', '--nats', nats.url], { cwd: folder.path });
        if (code !== 0) throw new Error(`export ended with ${code}: ${stderr}`);
        return stdout;
      } finally {
        await client.close();
        await receiver.close();
        await nats.stop();
        await folder.remove();
      }
    },
  };
}
