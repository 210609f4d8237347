/**
 * The service's report about itself over HTTP: replicas, NATS and its store, runners, dead letters, policies, limits.
 */
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ReplicaLine, ServiceReport } from '../../../src/inspector/service-messages.ts';
import { startReplica } from '../../support/replica.ts';
import { openStage, type Stage } from '../../support/stage.ts';

const policies = {
  policies: {
    default: { checks: [{ command: 'tests' }], retries: 2 },
    remote: { checks: [{ remote: 'review' }], runner: 'box' },
  },
};

async function open(options: Parameters<typeof openStage>[0] = {}): Promise<Stage> {
  const stage = await openStage({ policies, reportKeptMs: 0, ...options });
  onTestFinished(() => stage.close());
  return stage;
}
const reportOf = async (stage: Stage): Promise<ServiceReport> => (await stage.get('service')).body;
/** Waits for the first report that matches. */
async function until<Value>(stage: Stage, read: (report: ServiceReport) => Value | null | undefined): Promise<Value> {
  return vi.waitFor(
    async () => {
      const found = read(await reportOf(stage));
      if (found == null) throw new Error('not yet');
      return found;
    },
    { timeout: 60_000, interval: 100 },
  );
}
const named = (name: string, fits: (line: ReplicaLine) => boolean) => (report: ServiceReport) =>
  report.replicas.find((replica) => replica.name === name && fits(replica));

test('a single service judges, its store is measured, and each figure is known', async () => {
  const stage = await open();
  await stage.client.publish('worker.w1.tool.used', { tool: 'Bash' });
  const report = await until(stage, (report) => (report.store === null || report.outage !== null ? null : report));
  expect(report.replicas).toMatchObject([
    { name: 'r1', isSelf: true, state: 'judging', behind: 0, behindMs: 0, duties: ['snapshots', 'retention'] },
  ]);
  expect(report.nats.connections).toMatchObject([
    { name: 'requests', isConnected: true, breaks: 0 },
    { name: 'log', isConnected: true, breaks: 0 },
  ]);
  expect(report.judgesSinceMs).toBeGreaterThan(report.nowMs - 600_000);
  expect(report.judgesSinceMs).toBeLessThanOrEqual(report.nowMs);
  expect(report.nats.address).not.toContain('@');
  const { state } = await stage.client.manager.streams.info('STOPGATE_main');
  const log = report.store?.streams.find(({ holds }) => holds === 'log');
  expect(log).toMatchObject({ name: 'STOPGATE_main', firstSeq: 1, bytesMax: null, copies: 1, leader: null });
  expect(log?.lastSeq).toBeLessThanOrEqual(state.last_seq);
  expect(report.snapshots).toMatchObject({ kept: 0, newest: null });
  expect(report.limits.map(({ bound }) => bound)).toEqual(
    expect.arrayContaining(['units of workers and tasks', 'pages', 'decisions that the log has not delivered']),
  );
  for (const { used, max } of report.limits) expect(used).toBeLessThanOrEqual(max);
});

test('a snapshot is shown with the entries that it covers and those since', async () => {
  const stage = await open();
  await stage.client.publish('worker.w1.tool.used', { tool: 'Bash' });
  await until(stage, ({ snapshots }) => (snapshots?.newest === null ? true : null));
  const taken = (await stage.client.nc.request('stopgate.main.snapshot.now', '')).json<{ seq: number }>();
  await stage.client.publish('worker.w1.tool.used', { tool: 'Bash' });
  const found = await until(stage, ({ snapshots }) =>
    snapshots?.newest && snapshots.entriesSince > 0 ? snapshots : null,
  );
  expect(found).toMatchObject({ kept: 1, newest: { seq: taken.seq } });
  expect(found.newest?.bytes).toBeGreaterThan(0);
});

test('policies are shown with who set them and when, also after a change', async () => {
  const stage = await open();
  const first = await until(stage, ({ policies }) => (policies.setBy === null ? null : policies));
  expect(first.setBy).toBe('r1');
  expect(first.policies).toEqual([
    { name: 'default', checks: ['tests'], retries: 2 },
    { name: 'remote', checks: ['review'], retries: expect.anything() },
  ]);
  stage.replica.setPolicies({ policies: { default: { checks: [{ plan: {} }] } } });
  const next = await until(stage, ({ policies }) =>
    policies.seq > first.seq && policies.setBy !== null ? policies : null,
  );
  expect(next.policies.map(({ checks }) => checks)).toEqual([['plan']]);
  expect(next.atMs ?? 0).toBeGreaterThanOrEqual(first.atMs ?? 0);
});

test('dead letters are counted, and shown newest first', async () => {
  const stage = await open();
  stage.client.nc.publish('stopgate.main.worker.w1.tool.used', 'no JSON at all');
  stage.client.nc.publish('stopgate.main.worker.w1.noun.verb', '{"a":1}');
  const dead = await until(stage, (report) => (report.dead?.count === 2 ? report.dead : null));
  expect(dead.newest.map(({ data, code }) => ({ data, code }))).toEqual([
    { data: '{"a":1}', code: expect.any(String) },
    { data: 'no JSON at all', code: expect.any(String) },
  ]);
  expect(dead.newest[1]?.message).not.toBe('');
});

test('runners are shown with running and waiting checks, and since when they are served', async () => {
  const started: (() => void)[] = [];
  const stage = await open({
    // The first check has a slot, and the second waits for one.
    runCheck: (_request, signal, onStarted) => {
      if (started.push(onStarted) === 1) onStarted();
      return new Promise((done) => signal.addEventListener('abort', () => done({ outcome: 'error', reason: 'ended' })));
    },
  });
  const { client } = stage;
  for (const worker of ['w1', 'w2']) client.nc.publish(`stopgate.main.worker.${worker}.stop.attempted`, '{}');
  const lines = await until(stage, ({ runners }) =>
    runners.some(({ kind, running, waiting }) => kind === 'service' && running === 1 && waiting === 1) ? runners : null,
  );
  expect(lines).toMatchObject([
    { kind: 'service', name: null, isServed: true, oldestMs: expect.any(Number) },
    { kind: 'runner', name: 'box', isServed: false, waiting: 0, running: 0, oldestMs: null },
  ]);
  started[1]?.();
  const after = await until(stage, ({ runners }) =>
    runners.find(({ kind, running }) => kind === 'service' && running === 2),
  );
  expect(after.oldestMs).toBeNull();
});

test('another replica is shown as judging, then as silent, with its last known fold', async () => {
  const stage = await open();
  const other = await startReplica({ nats: stage.nats.url, name: 'r2' });
  onTestFinished(() => other.close());
  const line = await until(
    stage,
    named('r2', ({ state, behind }) => state === 'judging' && behind === 0),
  );
  expect(line).toMatchObject({ isSelf: false, behind: 0, behindMs: 0 });
  // It reports for three heartbeats that it has folded less than the log has.
  const say = async (seq: number) =>
    stage.client.nc.publish('stopgate.main.alive.r3', JSON.stringify({ instance: 'i3', startedMs: 1, seq }));
  stage.client.nc.publish('stopgate.main.own.fleet.main.replica.joined', JSON.stringify({ replica: 'r3' }));
  expect(
    await until(
      stage,
      named('r3', () => true),
    ),
  ).toMatchObject({ state: 'unknown', behind: null, behindMs: null });
  await stage.client.publish('worker.w1.tool.used', { tool: 'Bash' });
  const beats = setInterval(() => void say(1), 300);
  onTestFinished(() => clearInterval(beats));
  const behind = await until(
    stage,
    named('r3', ({ state, behindMs }) => state === 'behind' && behindMs !== null),
  );
  expect(behind.behind).toBeGreaterThan(0);
  expect(behind.behindMs).toBeGreaterThan(0);
  clearInterval(beats);
  expect(
    await until(
      stage,
      named('r3', ({ state }) => state === 'silent'),
    ),
  ).toMatchObject({ behind: null });
});

test('an outage of NATS is reported at once with its start, and figures of the store are unknown, not zero', async () => {
  const stage = await open({ isAlone: true });
  await until(stage, ({ store }) => store);
  const stream = await stage.stream();
  const { nowMs: beforeMs } = await reportOf(stage);
  await stage.nats.kill();
  const report = await until(stage, (report) => (report.outage === null || report.store !== null ? null : report));
  expect(report).toMatchObject({
    outage: { kind: 'nats-away', judges: null, reason: 'the connection to NATS is broken' },
    store: null,
    dead: null,
    snapshots: null,
    storeProblem: expect.stringContaining('NATS'),
    nats: {
      connections: [
        { isConnected: false, breaks: 1 },
        { isConnected: false, breaks: 1 },
      ],
    },
  });
  expect(report.replicas).toMatchObject([{ state: 'not-judging', behind: null, behindMs: null }]);
  expect(report.runners.find(({ kind }) => kind === 'runner')?.isServed).toBeNull();
  const { data } = await stream.until('delta', ({ outage }) => outage !== null);
  expect(data.outage).toMatchObject({ kind: 'nats-away', judges: null });
  // By the log's clock, so it does not depend on the time of the request.
  const sinceMs = report.outage?.sinceMs ?? 0;
  expect(sinceMs).toBeGreaterThanOrEqual(beforeMs);
  const later = await until(stage, (latest) => (latest.nowMs > report.nowMs ? latest : null));
  for (const { outage } of [data, later]) expect(Math.abs((outage?.sinceMs ?? 0) - sinceMs)).toBeLessThan(50);
});

test('a lost log is reported as another kind of outage', async () => {
  const stage = await open();
  await stage.client.manager.streams.delete('STOPGATE_main');
  const outage = await until(stage, (report) => (report.outage?.kind === 'log-lost' ? report.outage : null));
  expect(outage).toMatchObject({ kind: 'log-lost', reason: expect.stringContaining('STOPGATE_main') });
});

test('the report is made once per second, however many pages request it', async () => {
  const stage = await open({ reportKeptMs: 1_000 });
  const asked = Promise.all(Array.from({ length: 20 }, () => reportOf(stage)));
  expect(new Set((await asked).map(({ nowMs }) => nowMs)).size).toBe(1);
});
