/**
 * The mixed attack: everything that an agent without credentials may send, at once, while an honest worker must get
 * correct replies. At the end the service is restarted on the resulting log, with poisoned snapshots.
 */
import { readFile } from 'node:fs/promises';
import { jetstreamManager, type StreamAPI } from '@nats-io/jetstream';
import { openConnection } from '../../../src/nats/connection.ts';
import { openClient } from '../../support/client.ts';
import { makeFolder } from '../../support/deployment.ts';
import { clear, inStore, serverPid, startDev } from '../../support/dev.ts';
import { endService, serveShipped } from '../../support/service.ts';
import type { Attacker, Stage } from './attackers.ts';
import { poisonSnapshots } from './poisoned-snapshots.ts';

export type AttackReport = {
  readonly rounds: number;
  readonly answers: number;
  /** Requests that the honest worker had to repeat. */
  readonly retries: number;
  readonly wrong: readonly string[];
  readonly unanswered: number;
  /** Acknowledged entries of the honest worker. `lost` counts those missing in the end. */
  readonly entries: number;
  readonly lost: number;
  /** The processes that exited unexpectedly. */
  readonly ended: readonly string[];
  readonly restarted: boolean;
  readonly attacks: Readonly<Record<string, { sent: number; failed: number }>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Peak memory of the processes, or null if the system does not report it. */
  readonly serviceBytes: number | null;
  readonly natsBytes: number | null;
  readonly natsVersion: string;
  readonly logEntries: number;
};

type AttackOptions = {
  readonly attackers: readonly Attacker[];
  /** Called after each round. */
  readonly isOver: (rounds: number) => boolean;
};

const config = JSON.stringify({ policies: { default: { checks: [{ plan: {} }], retries: 1_000_000 } } });
/** A reply may wait for everything that attackers sent before. A later one counts as missing. */
const askTimeoutMs = 10_000;
const asksMax = 30;

export async function attack({ attackers, isOver }: AttackOptions): Promise<AttackReport> {
  const folder = await makeFolder({ 'stopgate.yaml': config });
  let service = await startDev(folder, serveShipped);
  const natsPid = await serverPid(folder);
  const ended: string[] = [];
  let isClosing = false;
  void service.ended.then((code) => isClosing || ended.push(`service (${code})`));
  const operator = await openConnection({
    url: service.ready.nats,
    credsFile: inStore(folder, 'credentials/service.json'),
    name: 'attack',
    patient: true,
  });
  const natsVersion = operator.info?.version ?? 'not known';
  const stage: Stage = { nats: service.ready.nats, http: service.ready.http, operator };
  const attacks = Object.fromEntries(attackers.map(({ name }) => [name, { sent: 0, failed: 0 }]));
  const honest = await openHonest(service.ready.nats);
  let rounds = 0;
  let isDone = false;
  const working = (async () => {
    while (!isDone) await honest.work();
  })();
  try {
    do {
      await Promise.all(
        attackers.map(async ({ name, run }) => {
          const { sent, failed } = await run(stage, rounds);
          const row = attacks[name] as { sent: number; failed: number };
          row.sent += sent;
          row.failed += failed;
        }),
      );
      rounds += 1;
    } while (ended.length === 0 && !isOver(rounds));
    isDone = true;
    await working;
    const [serviceBytes, natsBytes] = [await peakBytes(service.pid), await peakBytes(natsPid)];
    if ((await serverPid(folder)) !== natsPid) ended.push('nats-server');
    await poisonSnapshots(operator);
    await operator.close();
    isClosing = true;
    await endService(service, 60_000);
    service = await startDev(folder, serveShipped);
    const log = await openConnection({
      url: service.ready.nats,
      credsFile: inStore(folder, 'credentials/service.json'),
      name: 'judge',
      patient: true,
    });
    const { streams } = await jetstreamManager(log);
    const found = await findAll(streams, honest.stored);
    const { state } = await streams.info('STOPGATE_main');
    await log.close();
    const again = await openHonest(service.ready.nats, honest.cycles());
    await again.work();
    const restarted = again.wrong.length + again.unanswered() === 0;
    await again.close();
    const sorted = [...honest.times].sort((a, b) => a - b);
    const quantile = (q: number) => sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN;
    return {
      rounds,
      answers: honest.times.length,
      retries: honest.retries(),
      wrong: [...honest.wrong, ...again.wrong],
      unanswered: honest.unanswered(),
      entries: found.length,
      lost: found.filter((it) => !it).length,
      ended,
      restarted,
      attacks,
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      serviceBytes,
      natsBytes,
      natsVersion,
      logEntries: state.last_seq,
    };
  } finally {
    isDone = true;
    await honest.close();
    if (!operator.isClosed()) await operator.close();
    isClosing = true;
    await service.kill('SIGTERM');
    await clear(folder);
  }
}

/**
 * Checks for each entry whether it is in the log. Reads them one by one and retries, because a server that has just
 * started on a large log may be slow, and a missing reply is not a loss.
 * @throws NATS errors after `asksMax` attempts
 */
async function findAll(streams: StreamAPI, entries: readonly StoredEntry[]): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const { seq, subject } of entries)
    for (let tries = 1; ; tries += 1) {
      try {
        found.push((await streams.getMessage('STOPGATE_main', { seq }))?.subject === subject);
        break;
      } catch (error) {
        if (tries === asksMax) throw error;
      }
    }
  return found;
}

type StoredEntry = { readonly seq: number; readonly subject: string };

/** A worker that is blocked while its plan is open, and allowed to stop when it is done. */
async function openHonest(url: string, begunAt = 0) {
  const client = await openClient(url);
  const wrong: string[] = [];
  const times: number[] = [];
  const stored: StoredEntry[] = [];
  let [cycles, retries, unanswered] = [begunAt, 0, 0];
  /** Repeats an attempt or entry until there is a reply, as our clients do. */
  const insist = async <Result>(ask: () => Promise<Result>): Promise<Result | null> => {
    for (let tries = 1; tries <= asksMax; tries += 1) {
      try {
        return await ask();
      } catch {
        retries += 1;
        await new Promise((done) => setTimeout(done, 250));
      }
    }
    unanswered += 1;
    return null;
  };
  const publish = async (tail: string, data: object, id: string) => {
    const ack = await insist(() => client.publish(tail, data, id));
    if (ack !== null) stored.push({ seq: ack.seq, subject: `stopgate.main.${tail}` });
  };
  const decide = async (attempt: string, expected: string) => {
    const startMs = performance.now();
    const answer = await insist(async () => {
      const found = await client.ask('decide.honest', { attempt }, askTimeoutMs);
      if (found.code === '503') throw new Error('not now');
      return found;
    });
    if (answer === null) return;
    times.push(performance.now() - startMs);
    const { decision, cause } = answer.body;
    if (`${decision} ${cause}` !== expected) wrong.push(`${attempt}: ${JSON.stringify(answer)}, not ${expected}`);
  };
  return {
    wrong,
    times,
    stored,
    retries: () => retries,
    unanswered: () => unanswered,
    cycles: () => cycles,
    async work() {
      cycles += 1;
      const step = (status: string) => ({ steps: [{ id: '1', title: 'Write tests', status }] });
      await publish('worker.honest.plan.updated', step('in_progress'), `honest-${cycles}-begun`);
      await decide(`${cycles}-open`, 'block incomplete');
      await publish('worker.honest.plan.updated', step('completed'), `honest-${cycles}-done`);
      await decide(`${cycles}-done`, 'allow complete');
    },
    close: () => client.close(),
  };
}

async function peakBytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(status) ?? [];
  return kib === undefined ? null : Number(kib) * 1_024;
}
