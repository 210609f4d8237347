/** The host over a log in memory: from an attempt to its decision, and what callers get when the host ends. */
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { type Decision, decisionMessageId } from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import { createHost, type Host } from '../../../src/host/host.ts';
import { probeWorker } from '../../../src/service/probe.ts';
import { createMemoryLog, type MemoryLog } from './memory-log.ts';

const open: Host[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const host of open.splice(0)) await host.close();
});

/** `asked` counts the requests to remote checks. */
type Scene = { host: Host; log: MemoryLog; broken: number; checks: number; asked: number; clockMs: number };

type Options = { onFolded?: (subject: string) => void; unconfirmedDecisionsMax?: number; log?: MemoryLog };

/** `onFolded` is called for each message in the fold itself, where an error is a bug of ours. */
async function start({
  onFolded = () => {},
  unconfirmedDecisionsMax,
  log = createMemoryLog(),
}: Options = {}): Promise<Scene> {
  let id = 0;
  const scene = { log, broken: 0, checks: 0, asked: 0, clockMs: 0 } as Scene;
  scene.host = createHost({
    fleet: 'main',
    replica: 'r1',
    log,
    entryTimeoutMs: 5_000,
    openRequestsMax: 2,
    openReadsMax: 2,
    unconfirmedDecisionsMax,
    start: null,
    snapshotStore: null,
    usableSnapshots: async function* () {},
    trimmer: null,
    bus: {
      isConnected: () => true,
      connected: async () => true,
      flushLog: async () => true,
      reply: () => true,
      ping: async () => 'gone' as const,
      publish: () => {},
      subscribe: () => ({ close: () => {} }),
      requestRun: async () => '',
      payloadBytesMax: () => 1_048_576,
      // Never answered.
      request() {
        scene.asked += 1;
        return new Promise(() => {});
      },
      server: () => ({ address: null, name: null, version: null, connections: [] }),
    },
    // Never ends.
    runCheck: (_request, signal) => {
      scene.checks += 1;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    logger: pino({ level: 'silent' }),
    metrics: {
      folded: onFolded,
      decided: () => {},
      refused: () => {},
      dead: () => {},
      policyConflict: () => {},
      hookRan: () => {},
      used: () => {},
      bounded: () => {},
    },
    clock: () => scene.clockMs,
    newId: () => `id${++id}`,
    onBroken() {
      scene.broken += 1;
    },
  });
  open.push(scene.host);
  await scene.host.start();
  return scene;
}

const attempt = (host: Host, worker: string, fields: { readonly attempt?: string }): Promise<Decision> =>
  new Promise((resolve, reject) => {
    const request = { ...fields, payload: JSON.stringify(fields) };
    host.attempt(worker, request, (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
  });

test('an attempt is decided when its entry comes back, and a repeat gets the same decision', async () => {
  const { host, log } = await start();
  const decision = await attempt(host, 'w1', { attempt: 'a1' });
  expect(decision).toMatchObject({ worker: 'w1', attempt: 'a1', decision: 'allow', cause: 'no-policy' });
  await host.caughtUp();
  expect(await attempt(host, 'w1', { attempt: 'a1' })).toEqual(decision);
  const subjects = log.entries.map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.endsWith('stop.attempted'))).toHaveLength(1);
});

test('a decision read back from the log is that of the attempt, never another entry', async () => {
  const { host, log } = await start();
  const decision = await attempt(host, 'w1', { attempt: 'a1' });
  await host.caughtUp();
  await expect.poll(() => log.entries.at(-1)?.subject).toBe('stopgate.main.decision.w1');
  await host.caughtUp();
  for (const other of [{ ...decision, attempt: 'a2' }, { ...decision, seq: 99 }, { ...decision, worker: 'w2' }, {}]) {
    log.replace(log.entries.length, JSON.stringify(other));
    await expect(attempt(host, 'w1', { attempt: 'a1' })).rejects.toMatchObject({ code: 'log.unavailable' });
  }
});

test('a repeat whose decision retention has removed gets it from the fold, or an error that says it is over', async () => {
  const { host, log } = await start();
  const decide = async (id: string) => {
    const decision = await attempt(host, 'w1', { attempt: id });
    await expect.poll(() => log.entries.at(-1)?.subject).toBe('stopgate.main.decision.w1');
    await host.caughtUp();
    return decision;
  };
  await decide('a1');
  const last = await decide('a2');
  log.cutBefore(log.entries.length + 1);
  expect(await attempt(host, 'w1', { attempt: 'a2' })).toEqual({ ...last, tookMs: 0 });
  const refusal = { code: 'entry.refused', message: expect.stringContaining('ask under a new id') };
  await expect(attempt(host, 'w1', { attempt: 'a1' })).rejects.toMatchObject(refusal);
});

test('a newest entry that differs from the folded one ends the host: the log is lost', async () => {
  const { host, log } = await start();
  await attempt(host, 'w1', { attempt: 'a1' });
  await host.caughtUp();
  log.setHeadTime(1);
  await expect(host.caughtUp()).rejects.toMatchObject({ code: 'log.lost' });
  await expect(attempt(host, 'w1', { attempt: 'a2' })).rejects.toMatchObject({ code: 'log.lost' });
  expect(host.fault()).toMatchObject({ code: 'log.lost' });
});

test('a lost log is detected even without reads', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { host, log } = await start();
  log.head = async () => {
    throw new AppError('log.lost', 'the log has a gap: entries 1 to 22 are missing');
  };
  expect(host.fault()).toBeNull();
  vi.advanceTimersByTime(10_000);
  await expect.poll(() => host.fault()).toMatchObject({ code: 'log.lost' });
  await expect(attempt(host, 'w1', { attempt: 'a1' })).rejects.toMatchObject({ code: 'log.lost' });
});

const decisionsIn = (log: MemoryLog) => log.entries.filter(({ subject }) => subject.includes('.decision.')).length;

test('a decision entry is sent when its batch is full or when the host closes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { host, log } = await start();
  const decideAll = async (from: number, to: number) => {
    for (let index = from; index < to; index += 1) await attempt(host, 'w1', { attempt: `a${index}` });
  };
  await decideAll(0, 63);
  expect(decisionsIn(log)).toBe(0);
  await decideAll(63, 64);
  await host.caughtUp();
  await expect.poll(() => decisionsIn(log)).toBe(64);
  await decideAll(64, 65);
  expect(decisionsIn(log)).toBe(64);
  vi.advanceTimersByTime(50);
  expect(decisionsIn(log)).toBe(65);
  await decideAll(65, 66);
  const closed = host.close();
  expect(decisionsIn(log)).toBe(66);
  await closed;
});

test('a queued decision is not sent to another log', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { host, log } = await start();
  await attempt(host, 'w1', { attempt: 'a1' });
  log.setHeadTime(1);
  await expect(host.caughtUp()).rejects.toMatchObject({ code: 'log.lost' });
  vi.advanceTimersByTime(50);
  expect(decisionsIn(log)).toBe(0);
});

test('after a pause nothing is sent before the entries stored in the meantime are folded', async () => {
  const scene = await start();
  const { host, log } = scene;
  host.setPolicies({ policies: { default: { checks: [{ command: 'slow' }] } } });
  await host.caughtUp();
  scene.clockMs += 60_000;
  const attempted = 'stopgate.main.worker.w1.stop.attempted';
  for (const attempt of ['a1', 'a2', 'a3']) await log.append(attempted, JSON.stringify({ attempt }), { replica: 'r1' });
  await host.caughtUp();
  await expect.poll(() => scene.checks).toBe(1);
  await expect.poll(() => host.fault()).toBeNull();
  // Only the check of the open attempt; two attempts were superseded before the head was reached.
  expect(scene.checks).toBe(1);
});

test('more open requests than the limit are refused', async () => {
  const { host } = await start();
  const decisions = [attempt(host, 'w1', {}), attempt(host, 'w2', {})];
  await expect(attempt(host, 'w3', {})).rejects.toMatchObject({ code: 'service.busy' });
  await Promise.all(decisions);
  await expect(attempt(host, 'w3', {})).resolves.toMatchObject({ worker: 'w3' });
});

// Root cause: evicted probes kept running, so a flood of probes ran as many checks as it had requests.
test.each([{ command: 'slow' }, { remote: 'slow' }])(
  'a probe that gives way ends its check %j, and begins no other',
  async (check) => {
    const scene = await start();
    const { host } = scene;
    host.setPolicies({ policies: { default: { checks: [check, { command: 'next' }] } } });
    await host.caughtUp();
    const begun = () => scene.checks + scene.asked;
    const ended: unknown[] = [];
    const end = new AbortController();
    const probe = (worker: string) =>
      host.probe(worker, (signal) =>
        probeWorker(host, 'r1', worker, {}, { signal: AbortSignal.any([signal, end.signal]) }).catch((error: Error) => {
          ended.push([worker, error.message]);
          throw error;
        }),
      );
    const [first, ...others] = ['w1', 'w2'].map(probe);
    await expect.poll(begun).toBe(2);
    others.push(probe('w3'));
    await expect(first).rejects.toMatchObject({ code: 'service.busy' });
    await expect.poll(begun).toBe(3);
    await expect.poll(() => ended).toEqual([['w1', 'no longer needed']]);
    expect(begun()).toBe(3);
    end.abort();
    await Promise.allSettled(others);
  },
);

test('while too many decisions are unconfirmed, requests are refused', async () => {
  const { host, log } = await start({ unconfirmedDecisionsMax: 2 });
  const { send } = log;
  log.send = () => {};
  for (const worker of ['w1', 'w2']) await attempt(host, worker, { attempt: 'a1' });
  const stored = log.entries.length;
  const refused = attempt(host, 'w3', { attempt: 'a1' });
  await expect(refused).rejects.toMatchObject({
    code: 'service.busy',
    message: expect.stringContaining('2 decisions'),
  });
  expect(log.entries).toHaveLength(stored);
  const known = await attempt(host, 'w1', { attempt: 'a1' });
  expect(known).toMatchObject({ attempt: 'a1', decision: 'allow' });
  send('stopgate.main.decision.w1', JSON.stringify(known), { messageId: decisionMessageId('w1', 'a1'), replica: 'r1' });
  await host.caughtUp();
  expect(await attempt(host, 'w3', { attempt: 'a1' })).toMatchObject({ worker: 'w3', decision: 'allow' });
});

test('attempts that agents publish themselves use slots of requests, and are always decided', async () => {
  const { host, log } = await start({ unconfirmedDecisionsMax: 2 });
  const { send } = log;
  log.send = () => {};
  for (const worker of ['w1', 'w2', 'w3'])
    send(`stopgate.main.worker.${worker}.stop.attempted`, '{"attempt":"a1"}', { messageId: `${worker}:a1` });
  await expect.poll(() => host.foldedSeq()).toBe(log.entries.length);
  const refused = { code: 'service.busy', message: expect.stringContaining('3 decisions') };
  await expect(attempt(host, 'w4', { attempt: 'a1' })).rejects.toMatchObject(refused);
  for (const worker of ['w1', 'w2', 'w3']) {
    const decision = await attempt(host, worker, { attempt: 'a1' });
    expect(decision).toMatchObject({ worker, decision: 'allow' });
    const subject = `stopgate.main.decision.${worker}`;
    send(subject, JSON.stringify(decision), { messageId: decisionMessageId(worker, 'a1') });
  }
  await host.caughtUp();
  expect(await attempt(host, 'w4', { attempt: 'a1' })).toMatchObject({ worker: 'w4', decision: 'allow' });
});

test('a fold that throws ends the host: callers get an error, and nothing more is folded', async () => {
  const scene = await start({
    onFolded(subject) {
      if (subject.endsWith('stop.attempted')) throw new Error('a bug');
    },
  });
  const { host, log } = scene;
  const error = { code: 'log.unavailable', message: expect.stringContaining('the fold failed at entry') };
  await expect(attempt(host, 'w1', {})).rejects.toMatchObject(error);
  await expect(attempt(host, 'w1', {})).rejects.toMatchObject(error);
  await expect(host.evaluate('t1', {})).rejects.toMatchObject(error);
  await expect(host.caughtUp()).rejects.toMatchObject(error);
  expect(host.fault()).toMatchObject(error);
  expect({ broken: scene.broken, isRead: log.isRead() }).toEqual({ broken: 1, isRead: false });
});

test('a host that closes leaves the fleet, and fails callers that wait for a check', async () => {
  const { host, log } = await start();
  host.setPolicies({ policies: { default: { checks: [{ command: 'slow' }] } } });
  const waiting = attempt(host, 'w1', { attempt: 'a1' });
  await host.caughtUp();
  const closed = host.close();
  await expect(waiting).rejects.toMatchObject({
    code: 'log.unavailable',
    message: expect.stringContaining('stopping'),
  });
  await closed;
  expect(log.entries.at(-1)?.subject).toBe('stopgate.main.own.fleet.main.replica.left');
  expect(log.isRead()).toBe(false);
});

test('a start reports that the log does not answer, and continues as soon as it does', async () => {
  const log = createMemoryLog();
  let isSilent = true;
  const head = async () => {
    if (isSilent) throw new AppError('log.unavailable', 'the log STOPGATE_main does not answer: timeout');
    return log.head();
  };
  const starting = start({ log: { ...log, head } });
  await expect.poll(() => open.at(-1)?.fault()?.message).toBe('the log STOPGATE_main does not answer: timeout');
  isSilent = false;
  const { host } = await starting;
  expect(host.fault()).toBeNull();
});
