/** Timers of any length, and that nothing else in src gives a timer a duration from outside. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTimerQueue, startTimedSignal, startTimer, timerMsMax } from '../../src/timer.ts';

const dayMs = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Root cause: a Node timer fires after 1 ms if it is to wait longer than 2^31 - 1 ms. */
describe('a timer', () => {
  test.each([1, dayMs, timerMsMax, timerMsMax + 1, 30 * dayMs, 100 * dayMs])('of %i ms is due then, and once', (ms) => {
    const onDue = vi.fn();
    startTimer(ms, onDue);
    vi.advanceTimersByTime(ms - 1);
    expect(onDue).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onDue).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('of less than nothing is due at once, one without end is never due', () => {
    const [past, never] = [vi.fn(), vi.fn()];
    startTimer(-5, past);
    startTimer(Number.POSITIVE_INFINITY, never);
    vi.advanceTimersByTime(400 * dayMs);
    expect(past).toHaveBeenCalledOnce();
    expect(never).not.toHaveBeenCalled();
  });

  test('that is cleared in a later step is never due', () => {
    const onDue = vi.fn();
    const timer = startTimer(60 * dayMs, onDue);
    vi.advanceTimersByTime(30 * dayMs);
    timer.clear();
    vi.advanceTimersByTime(60 * dayMs);
    expect(onDue).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('as a signal', () => {
    const { signal } = startTimedSignal(60 * dayMs);
    vi.advanceTimersByTime(59 * dayMs);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(dayMs);
    expect(signal.aborted).toBe(true);
  });
});

describe('a queue of timers of one length', () => {
  test('calls each at its own time, and none that was cleared, with one timer of Node', () => {
    const queue = createTimerQueue(100);
    const due: string[] = [];
    const start = (name: string) => queue.start(() => due.push(name));
    start('first');
    vi.advanceTimersByTime(40);
    const cleared = start('cleared');
    const second = start('second');
    expect(vi.getTimerCount()).toBe(1);
    cleared.clear();
    vi.advanceTimersByTime(59);
    expect(due).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(due).toEqual(['first']);
    vi.advanceTimersByTime(40);
    expect(due).toEqual(['first', 'second']);
    second.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('can be used again while it calls, and after its last one', () => {
    const queue = createTimerQueue(100);
    const onDue = vi.fn(() => {
      if (onDue.mock.calls.length < 3) queue.start(onDue);
    });
    queue.start(onDue);
    vi.advanceTimersByTime(300);
    expect(onDue).toHaveBeenCalledTimes(3);
    expect(vi.getTimerCount()).toBe(0);
    queue.start(onDue);
    vi.advanceTimersByTime(100);
    expect(onDue).toHaveBeenCalledTimes(4);
  });
});

/** Delays that are not a number in their own file, each a constant of its callers, or bounded before it gets there. */
const bounded = [
  'app/fleets.ts: options.everyMs ?? everyMsDefault',
  'app/process-end.ts: Math.min(Math.max(idleMs / 4, 10), 10_000)',
  'client/decision-calls.ts: afterMs',
  'app/link.ts: Math.random() * claimAgainMsMax',
  'config/watch.ts: intervalMs',
  'hook-command/post.ts: call.timeoutMs', // its options are read with a bound
  'hook-command/run.ts: timeoutMs',
  'hook-command/wake.ts: timeoutMs ?? waitMs',
  'hook-command/wake.ts: ms',
  'host/fold/outbox.ts: delayMs',
  'host/maintenance/log-health.ts: delayMs',
  'host/maintenance/membership.ts: beatEveryMs', // an option that only tests set
  'host/maintenance/snapshot-taker.ts: schedule.checkEveryMs',
  'http/graceful-close.ts: timeoutMs',
  'nats/connection.ts: timeoutMs',
  'nats/log/log-history.ts: pauseMs',
  'nats/reachability.ts: timeoutMs',
  'notify/webhook.ts: timeoutMs',
  'agents/opencode/plugin.ts: ms',
  'inspector/history/history-process.ts: ms',
  'inspector/history/history.ts: limits.budgetMs',
  'nats/embedded/store-watch.ts: ms',
];

test('no other timer gets a duration that a configuration, a caller or the wire may choose', () => {
  expect(delaysIn().filter((delay) => !bounded.includes(delay))).toEqual([]);
});

/** All that are not a number, or the name of one in the same file. */
function delaysIn(): string[] {
  const src = new URL('../../src/', import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/^(?:bench|demo|inspector\/client)\/|^timer\.ts$/.test(name),
  );
  return files.flatMap((name) => {
    const source = readFileSync(new URL(name, src), 'utf8');
    return [...source.matchAll(/(?:setTimeout|setInterval|AbortSignal\.timeout)\(/g)]
      .map(({ index, 0: call }) =>
        argumentsOf(source, index + call.length).findLast((it) => !/^(?:\{|undefined|bus\.)/.test(it)),
      )
      .filter((delay) => delay !== undefined && !/^[\d_]+$/.test(delay) && !isNumberIn(source, delay))
      .map((delay) => `${name}: ${delay}`);
  });
}

const isNumberIn = (source: string, name: string) =>
  /^\w+$/.test(name) && new RegExp(`const ${name} = [\\d_ *]+;`).test(source);

/** Returns the arguments of the call whose `(` ends before `from`. */
function argumentsOf(source: string, from: number): string[] {
  const found = [''];
  for (let [at, depth] = [from, 1]; ; at += 1) {
    const char = source.charAt(at);
    if ('([{'.includes(char)) depth += 1;
    else if (')]}'.includes(char)) depth -= 1;
    if (depth === 0) return found.map((text) => text.trim()).filter((text) => text !== '');
    if (char === ',' && depth === 1) found.push('');
    else found[found.length - 1] += char;
  }
}
