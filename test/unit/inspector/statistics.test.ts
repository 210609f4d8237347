/** The fleet's statistics, counted from its log: verdicts, blocks, checks, escalations, and bounds. */
import { describe, expect, test } from 'vitest';
import { addDuration, createBuckets, quantileOf, windowOf } from '../../../src/inspector/statistics/buckets.ts';
import { spans } from '../../../src/inspector/statistics/spans.ts';
import { createStatistics } from '../../../src/inspector/statistics/statistics.ts';

const minute = 60_000;
const startMs = Date.parse('2026-03-02T10:00:00Z');

type Wanted = Parameters<ReturnType<typeof createStatistics>['view']>[0];
const wanted = (some: Partial<Wanted>): Wanted => ({
  span: 'hour',
  nowMs: startMs,
  knownFromMs: null,
  areTasksKnown: true,
  ...some,
});

/** Folds lines of `[minute, subject without fleet, fields]`. */
function count(lines: readonly (readonly [minutes: number, subject: string, fields?: object])[]) {
  const statistics = createStatistics();
  for (const [minutes, subject, fields = {}] of lines)
    statistics.fold({
      atMs: startMs + minutes * minute,
      subject: `stopgate.main.${subject}`,
      text: () => JSON.stringify(fields),
    });
  const last = lines.at(-1)?.[0] ?? 0;
  return statistics.view(wanted({ nowMs: startMs + last * minute }));
}

const decision = (cause: string, more: object = {}) => ({
  decision: 'allow',
  action: 'complete',
  cause,
  feedback: [],
  verdicts: [],
  ...more,
});
const block = (guard: string, ...checks: string[]) => ({
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  feedback: checks.map((check) => ({ check })),
  verdicts: [{ guard: 'bypass' }, { guard }],
});
const finished = (check: string, outcome: string, tookMs = 100) => ({ attempt: 'a', check, outcome, tookMs });
const sum = (view: ReturnType<typeof count>) => {
  const verdicts: Record<string, number> = {};
  for (const bucket of view.buckets)
    for (const [kind, times] of Object.entries(bucket.verdicts)) verdicts[kind] = (verdicts[kind] ?? 0) + times;
  return verdicts;
};

test('counts the outcome of each stop once', () => {
  const view = count([
    [0, 'decision.w1', decision('complete')],
    [1, 'decision.w1', decision('capped')],
    [1, 'decision.w2', decision('unjudged', { action: 'continue' })],
    [2, 'decision.w3', decision('incomplete', { action: 'escalate' })],
    [2, 'decision.w4', block('checks', 'unit')],
    [2, 'decision.w4', decision('superseded')],
  ]);
  expect(sum(view)).toEqual({ complete: 1, 'let-go': 1, unjudged: 1, escalated: 1, blocked: 1 });
  expect(view.buckets).toHaveLength(60);
  expect(view.buckets.at(-3)?.verdicts.complete).toBe(1);
});

test('ignores service entries published by an agent', () => {
  const forged = { decision: 'block', action: 'continue', cause: 'incomplete', feedback: [null, 3], verdicts: [null] };
  const view = count([
    [0, 'worker.w1.decision', decision('complete')],
    [0, 'worker.w1.decision', forged],
    [0, 'task.t1.decision', forged],
    [0, 'worker.w1.check.finished', finished('unit', 'pass')],
    [0, 'worker.w1.escalation.notified'],
    [0, 'decision.w1', forged],
  ]);
  expect(sum(view)).toEqual({ complete: 0, 'let-go': 0, unjudged: 0, escalated: 0, blocked: 0 });
  expect(view.checks).toEqual([]);
  expect(view.buckets.at(-1)?.escalations).toBe(0);
});

test('a refused prompt does not end an escalation', () => {
  const view = count([
    [0, 'own.worker.w1.escalation.notified', { delivery: 'd' }],
    [1, 'worker.w1.prompt.submitted', { text: 7 }],
  ]);
  expect(view.buckets.map(({ resolved }) => resolved)).not.toContain(1);
});

test('counts blocks by the guard that decided, and by the checks that did not pass', () => {
  const view = count([
    [0, 'decision.w1', block('checks', 'unit', 'lint')],
    [0, 'decision.w2', block('checks', 'unit')],
    [0, 'decision.w3', block('idle')],
    [0, 'decision.w4', block('no such guard')],
  ]);
  expect(view.buckets.at(-1)?.guards).toEqual({ checks: 2, idle: 1, policy: 1 });
  expect(view.checks.map(({ check, blocks }) => [check, blocks])).toEqual([
    ['unit', 2],
    ['lint', 1],
  ]);
});

test('counts how often a check passes and how long it takes', () => {
  const results = Array.from({ length: 20 }, (_, index) =>
    finished('unit', index === 0 ? 'fail' : 'pass', index < 19 ? 100 : 9_000),
  );
  const view = count(
    [...results, finished('unit', 'timeout')].map((result) => [0, 'own.worker.w1.check.finished', result]),
  );
  const [unit] = view.checks;
  expect(unit).toMatchObject({ check: 'unit', runs: 21, passed: 19, failed: 1, errors: 1 });
  // Exact to 25%.
  expect(unit?.p95Ms).toBeGreaterThanOrEqual(100);
  expect(unit?.p95Ms).toBeLessThan(126);
  expect(view.buckets.at(-1)?.checkMs).toBe(100 * 20 + 9_000);
});

describe('a check is flaky if two runs on the same work differ:', () => {
  const [used, attempted] = ['worker.w1.tool.used', 'worker.w1.stop.attempted'];
  const run = (minutes: number, outcome: string, more: object = {}, worker = 'w1') =>
    [minutes, `own.worker.${worker}.check.finished`, { ...finished('unit', outcome), ...more }] as const;
  const pairs = (...lines: Parameters<typeof count>[0]) => {
    const { compared, differing } = count(lines).checks[0] ?? {};
    return { compared, differing };
  };

  test('for a worker that reports tools and used only read-only ones in between', () => {
    const read = [1, used, { tool: 'Read' }] as const;
    expect(pairs([0, used], run(0, 'fail'), [9, attempted], run(9, 'pass'), run(9, 'pass'))).toEqual({
      compared: 2,
      differing: 1,
    });
    expect(pairs([0, used], run(0, 'fail'), read, [9, attempted], run(9, 'pass'))).toEqual({
      compared: 1,
      differing: 1,
    });
    const edit = [1, used, { tool: 'Edit' }] as const;
    expect(pairs([0, used], run(0, 'fail'), edit, [9, attempted], run(9, 'pass'))).toEqual({
      compared: 0,
      differing: 0,
    });
  });

  test('for a worker that reports no tools, only within a second or in the same attempt', () => {
    const second = 1 / 60;
    expect(pairs(run(0, 'fail'), [second, attempted], run(2, 'pass'))).toEqual({ compared: 1, differing: 1 });
    expect(pairs(run(0, 'fail'), [2 * second, attempted], run(2, 'pass'))).toEqual({ compared: 0, differing: 0 });
    expect(pairs([0, attempted], run(0, 'fail'), run(9, 'pass'))).toEqual({ compared: 1, differing: 1 });
  });

  test('on the same tree, regardless of the worker and of entries in between', () => {
    const onTree = (tree: string) => ({ metadata: { tree } });
    expect(pairs(run(0, 'fail', onTree('a')), [1, used], run(2, 'pass', onTree('a'), 'w2'))).toEqual({
      compared: 1,
      differing: 1,
    });
    // Nothing was reported, but the tree differs.
    expect(pairs([0, used], run(0, 'fail', onTree('a')), run(0, 'pass', onTree('b')))).toEqual({
      compared: 0,
      differing: 0,
    });
  });

  test('a reused result does not count as a run', () => {
    expect(pairs([0, used], run(0, 'pass'), run(1, 'pass', { metadata: { reused: 'a time' } }))).toEqual({
      compared: 0,
      differing: 0,
    });
  });
});

test('counts a range in buckets of round widths, and nothing outside of it', () => {
  const fromMs = startMs + 7 * minute;
  const [hour, day] = [60 * minute, 24 * 60 * minute];
  expect(windowOf(fromMs, fromMs + 5 * minute)).toEqual({ bucketMs: 5_000, count: 60 });
  expect(windowOf(fromMs, fromMs + hour)).toEqual({ bucketMs: minute, count: 60 });
  expect(windowOf(fromMs, fromMs + 31 * day)).toEqual({ bucketMs: 6 * hour, count: 125 });
  const statistics = createStatistics({ custom: windowOf(fromMs, fromMs + 5 * minute) });
  for (const second of [0, 4, 299])
    statistics.fold({
      atMs: fromMs + second * 1_000,
      subject: 'stopgate.main.decision.w1',
      text: () => JSON.stringify(block('checks', 'unit')),
    });
  const view = statistics.view(wanted({ span: 'custom', fromMs, nowMs: fromMs + 5 * minute }));
  expect(view).toMatchObject({ span: 'custom', fromMs, toMs: fromMs + 5 * minute, bucketMs: 5_000 });
  expect(view.buckets.map(({ verdicts }) => verdicts.blocked)).toEqual([2, ...Array(58).fill(0), 1]);
  expect(view.buckets[0]?.atMs).toBe(fromMs);
});

test('counts escalations and how long people took', () => {
  const escalate = decision('promise', { action: 'escalate' });
  const view = count([
    [0, 'decision.w1', escalate],
    [1, 'decision.w1', escalate],
    [4, 'own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }],
    [5, 'own.worker.w2.escalation.notified', { count: 1, delivery: 'x' }],
    [15, 'worker.w2.prompt.submitted'],
    [16, 'own.task.T-1.escalation.notified', { count: 1, delivery: 'x' }],
  ]);
  expect(view.buckets.reduce((all, bucket) => all + bucket.escalations, 0)).toBe(3);
  expect(view.buckets.reduce((all, bucket) => all + bucket.resolved, 0)).toBe(2);
  expect(view.resolveMs.p50).toBeGreaterThanOrEqual(4 * minute);
  expect(view.resolveMs.p50).toBeLessThan(5 * minute);
});

test('sums usage by UTC day, worker and model, most expensive first, and ignores invalid reports', () => {
  const statistics = createStatistics();
  const report = (hours: number, data: object, worker = 'w1') =>
    statistics.fold({
      atMs: startMs + hours * 60 * minute,
      subject: `stopgate.main.worker.${worker}.usage.reported`,
      text: () => JSON.stringify(data),
    });
  report(0, { input: 10, output: 5, usd: 0.1, model: 'small' });
  report(1, { input: 100, cacheRead: 900, usd: 0.2, model: 'large' }, 'w2');
  report(20, { input: 1, usd: 0.1, model: 'large' });
  report(20, { input: -7 });
  report(20, { output: 2 });
  const view = statistics.view(wanted({ span: 'week', nowMs: startMs + 21 * 60 * minute, areTasksKnown: false }));
  expect(view.usage).toEqual({
    days: [
      { name: '2026-03-02', usd: 0.3, tokens: 115, cacheRead: 900, reports: 2 },
      { name: '2026-03-03', usd: 0.1, tokens: 3, cacheRead: 0, reports: 2 },
    ],
    workers: [
      // Tokens order equal dollars.
      { name: 'w2', usd: 0.2, tokens: 100, cacheRead: 900, reports: 1 },
      { name: 'w1', usd: 0.2, tokens: 18, cacheRead: 0, reports: 3 },
    ],
    models: [
      { name: 'large', usd: 0.3, tokens: 101, cacheRead: 900, reports: 2 },
      { name: 'small', usd: 0.1, tokens: 15, cacheRead: 0, reports: 1 },
      { name: null, usd: 0, tokens: 2, cacheRead: 0, reports: 1 },
    ],
    tasks: null,
  });
  expect(view.buckets.map(({ usd }) => usd).filter((usd) => usd > 0)).toEqual([0.3, 0.1]);
  expect(createStatistics().view(wanted({})).usage).toBe(null);
});

test('joins the cheapest of many tasks in one line', () => {
  const statistics = createStatistics();
  for (let index = 1; index <= 60; index += 1) {
    const data = { usd: index };
    statistics.fold({
      atMs: startMs,
      subject: 'stopgate.main.worker.w1.usage.reported',
      text: () => JSON.stringify(data),
    });
    statistics.usedFor(`T-${index}`, startMs, data);
  }
  const tasks = statistics.view(wanted({})).usage?.tasks ?? [];
  expect(tasks).toHaveLength(51);
  expect(tasks[0]).toMatchObject({ name: 'T-60', usd: 60 });
  expect(tasks.at(-1)).toMatchObject({ name: '(others)', usd: 55 });
});

test('ignores malformed entries', () => {
  const statistics = createStatistics();
  for (const text of ['', 'x', '[]', '{"decision":"block"}', '{"decision":1}'])
    for (const tail of ['decision.w1', 'own.worker.w1.check.finished'])
      statistics.fold({ atMs: startMs, subject: `stopgate.main.${tail}`, text: () => text });
  expect(statistics.view(wanted({ span: 'week' })).checks).toEqual([]);
});

test('reports since when it counts in a truncated log', () => {
  const view = (knownFromMs: number) => createStatistics().view(wanted({ knownFromMs })).knownFromMs;
  expect(view(startMs - 10 * minute)).toBe(startMs - 10 * minute);
  expect(view(startMs - 100 * minute)).toBe(null);
});

test('keeps a bounded number of buckets and checks', () => {
  const buckets = createBuckets();
  let counted = 0;
  for (let index = 0; index < 500; index += 1) buckets.addAt(startMs + index * minute, () => (counted += 1));
  expect(buckets.within(spans.hour, startMs)).toHaveLength(60);
  // Entries older than the span are not counted.
  counted = 0;
  buckets.addAt(startMs, () => (counted += 1));
  expect(counted).toBe(2);
  const many = count(
    Array.from(
      { length: 300 },
      (_, index) => [0, 'own.worker.w1.check.finished', finished(`c${index}`, 'pass')] as const,
    ),
  );
  expect(many.checks).toHaveLength(65);
  expect(many.checks.find(({ check }) => check === '(others)')?.runs).toBe(300 - 64);
});

test('a quantile of durations is never too small, and at most 25% too large', () => {
  const durations = new Map<number, number>();
  for (let ms = 1; ms <= 1_000; ms += 1) addDuration(durations, ms);
  for (const [part, exact] of [
    [0.5, 500],
    [0.95, 950],
    [1, 1_000],
  ] as const) {
    const found = quantileOf(durations, part) ?? 0;
    expect(found).toBeGreaterThanOrEqual(exact);
    expect(found).toBeLessThanOrEqual(exact * 1.25 + 1);
  }
});
