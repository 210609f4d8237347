/** Statistics continue from request to request, and report since when they count if retention truncated the log. */
import { expect, test } from 'vitest';
import { createPast } from '../../../../src/inspector/history/past.ts';
import { createStatisticsReader } from '../../../../src/inspector/history/statistics.ts';
import { nothingAccepted } from '../../../../src/nats/log/log-note.ts';
import type { LogMessage } from '../../../../src/nats/log/log-reader.ts';

const hourMs = 3_600_000;
const job = { signal: new AbortController().signal, step: () => undefined };
const decision = JSON.stringify({
  decision: 'block',
  cause: 'incomplete',
  action: 'continue',
  feedback: [],
  verdicts: [],
});

/** One block per hour, and a clock fixed at the last one. */
function makeLog() {
  let messages: LogMessage[] = [];
  const first = () => messages[0] as LogMessage;
  const last = () => messages.at(-1) as LogMessage;
  return {
    grow(count: number) {
      for (let more = 0; more < count; more += 1) this.add('decision.w1', decision);
    },
    add(tail: string, text: string) {
      const seq = (messages.at(-1)?.seq ?? 0) + 1;
      const data = new TextEncoder().encode(text);
      messages.push({ seq, atMs: seq * hourMs, subject: `stopgate.main.${tail}`, data, header: () => undefined });
    },
    accepted: nothingAccepted,
    cutBelow(seq: number) {
      messages = messages.filter((entry) => entry.seq >= seq);
    },
    now: () => last().atMs,
    range: async () => ({ firstSeq: first().seq, lastSeq: last().seq, firstMs: first().atMs, lastMs: last().atMs }),
    async history(
      { fromSeq, toSeq }: { fromSeq: number; toSeq: number },
      onMessage: (message: LogMessage) => void | Promise<void>,
    ) {
      for (const message of messages) if (message.seq >= fromSeq && message.seq <= toSeq) await onMessage(message);
    },
  };
}

/** Reads like the history process, with its own folds. */
function openReader(log: ReturnType<typeof makeLog>) {
  const snapshots = { seqs: async () => [], load: async () => null, write: async () => {} };
  return createStatisticsReader(log, createPast({ fleet: 'main', log, snapshots }), log.now);
}

async function count(reader: ReturnType<typeof createStatisticsReader>) {
  const { buckets, knownFromMs } = await reader.read('week', job);
  return { blocked: buckets.reduce((all, { verdicts }) => all + verdicts.blocked, 0), knownFromMs };
}

test('continue where they ended, even if counted entries were removed', async () => {
  const log = makeLog();
  const reader = openReader(log);
  log.grow(20);
  expect(await count(reader)).toEqual({ blocked: 20, knownFromMs: null });
  log.cutBelow(15);
  log.grow(5);
  expect(await count(reader)).toEqual({ blocked: 25, knownFromMs: null });
});

test('restart after a truncation that removed uncounted entries', async () => {
  const log = makeLog();
  const reader = openReader(log);
  log.grow(20);
  await count(reader);
  log.grow(20);
  log.cutBelow(31);
  expect(await count(reader)).toEqual({ blocked: 10, knownFromMs: 31 * hourMs });
  log.grow(1);
  expect(await count(reader)).toEqual({ blocked: 11, knownFromMs: 31 * hourMs });
});

test("assign usage to tasks from the fleet's state, and continue there", async () => {
  const log = makeLog();
  const reader = openReader(log);
  const tasks = async () => (await reader.read('week', job)).usage?.tasks?.map(({ name, usd }) => [name, usd]);
  const use = (worker: string, usd: number) => log.add(`worker.${worker}.usage.reported`, JSON.stringify({ usd }));
  use('w1', 1);
  log.add('worker.w1.task.claimed', '{"task":"T-1"}');
  use('w1', 2);
  // Refused, because another worker holds it.
  log.add('worker.w2.task.claimed', '{"task":"T-1"}');
  use('w2', 4);
  expect(await tasks()).toEqual([
    [null, 5],
    ['T-1', 2],
  ]);
  log.add('worker.w1.task.claimed', '{"task":"T-2"}');
  use('w1', 8);
  log.add('worker.w1.task.released', '{"task":"T-2"}');
  use('w1', 16);
  expect(await tasks()).toEqual([
    ['T-1', 18],
    ['T-2', 8],
    [null, 5],
  ]);
  expect(await tasks()).toHaveLength(3);
});

test('report usage without tasks if the log was truncated', async () => {
  const log = makeLog();
  log.grow(5);
  log.add('worker.w1.usage.reported', '{"usd":3}');
  log.cutBelow(4);
  const { usage } = await openReader(log).read('week', job);
  expect(usage).toMatchObject({ tasks: null, models: [{ name: null, usd: 3 }] });
});

test('counts a range from start to end, once', async () => {
  const log = makeLog();
  const reader = openReader(log);
  log.grow(40);
  const range = { fromMs: 10 * hourMs, toMs: 20 * hourMs };
  const blocked = async () => {
    const { buckets, ...rest } = await reader.read(range, job);
    const first = buckets.find(({ verdicts }) => verdicts.blocked > 0)?.atMs;
    return { blocked: buckets.reduce((all, { verdicts }) => all + verdicts.blocked, 0), first, ...rest };
  };
  expect(await blocked()).toMatchObject({
    blocked: 10,
    first: 10 * hourMs,
    ...range,
    span: 'custom',
    knownFromMs: null,
  });
  log.grow(10);
  expect(await blocked()).toMatchObject({ blocked: 10 });
  // It ends after the newest entry, so it continues with new ones.
  const open = { fromMs: 45 * hourMs, toMs: 60 * hourMs };
  const count = async () =>
    (await reader.read(open, job)).buckets.filter((bucket) => bucket.verdicts.blocked > 0).length;
  expect(await count()).toBe(6);
  log.grow(4);
  expect(await count()).toBe(10);
  log.cutBelow(50);
  const cut = { fromMs: 46 * hourMs, toMs: 60 * hourMs };
  expect((await reader.read(cut, job)).knownFromMs).toBe(50 * hourMs);
});
