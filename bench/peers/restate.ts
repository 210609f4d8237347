/** Restate: a server that journals each call of a handler, and the handlers in our own service. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { readEnvironment } from '../../src/config/environment.ts';
import { cpuUsOf } from '../process-cpu.ts';
import { install, packageFile, restateServer } from './cache.ts';
import { closeLater, freePort, openService, waitFor } from './child-server.ts';
import { attempt, timeout, toolEvent } from './nats-peers.ts';
import { type Peer, type PeerContext, PeerMissing } from './peer.ts';

/** @throws PeerMissing */
export async function openRestate(context: PeerContext): Promise<Peer> {
  install(context.cache, restateServer, '@restatedev/restate-sdk');
  const program = packageFile(context.cache, restateServer, 'bin/restate-server');
  if (!existsSync(program)) throw new PeerMissing(`${restateServer} has no bin/restate-server`);
  chmodSync(program, 0o755);
  const node = await freePort();
  const admin = await freePort();
  const ingress = await freePort();
  const port = await freePort();
  const server = spawn(program, ['--base-dir', join(context.folder, 'restate'), '--node-name', 'bench', '--no-logo'], {
    stdio: 'ignore',
    cwd: context.folder,
    env: {
      ...readEnvironment(),
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'error',
    },
  });
  closeLater(context, server);
  const pid = await openService(context, './restate-service.js', context.cache, `${port}`);
  await waitFor('Restate', server, async () => {
    const uri = `http://127.0.0.1:${port}`;
    const response = await fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri }),
    });
    if (!response.ok) throw new Error(`it answered ${response.status} to a deployment: ${await response.text()}`);
  });
  const agent = new Agent({ keepAlive: true });
  context.onClose(async () => agent.destroy());
  const call = (worker: string, handler: string, body: string) =>
    post(agent, `http://127.0.0.1:${ingress}/worker/${worker}/${handler}`, body);
  await waitFor('Restate', server, () => call('warm-up', 'report', '{}'));
  return {
    name: 'Restate',
    durability: 'RocksDB, fsync before the answer',
    report: (worker) => call(worker, 'report', toolEvent),
    stop: (worker) => call(worker, 'stop', attempt),
    cpuUs: () => ({ service: cpuUsOf(pid), store: cpuUsOf(server.pid ?? 0) }),
  };
}

function post(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { agent, method: 'POST', headers, timeout }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`it answered ${response.statusCode}: ${text}`));
      });
    });
    sent.once('error', reject);
    sent.once('timeout', () => sent.destroy(new Error('it did not answer')));
    sent.end(body);
  });
}
