/** Short texts of the page, each of which once said something untrue. */
import { describe, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { describeBudget, timersOf } from '../../../src/inspector/client/actor/timers.ts';
import { endText } from '../../../src/inspector/client/data/entry-pages.ts';
import { directionOf } from '../../../src/inspector/client/lists/order.ts';
import { describeJudging } from '../../../src/inspector/client/service/standing.ts';
import { passedText } from '../../../src/inspector/client/statistics/shares.ts';
import { dateTime, inLocalTime, time, usedText } from '../../../src/inspector/client/ui/format.ts';
import type { ReplicaLine } from '../../../src/inspector/service-messages.ts';

test('usage names no dollars if the agent reports none', () => {
  expect(usedText({ usd: 0, tokens: 1_200 })).toBe('1,200 tokens');
  expect(usedText({ usd: 0.5, tokens: 1 })).toBe('$0.50, 1 token');
  expect(usedText({ usd: 0.0004, tokens: 0 })).toBe('$0.0004');
  expect(usedText({ usd: 0, tokens: 0 })).toBeNull();
});

test('a budget in dollars is used to an unknown part by an agent that reports only tokens', () => {
  const line = (per: 'session' | 'day', used: number) => ({ per, kind: 'usd', used, limit: 5 }) as const;
  const used = (usd: number, tokens: number) => ({ session: { usd, tokens, turns: 0 } });
  expect(describeBudget(line('session', 0), used(0, 900))).toBe('unknown of $5.00');
  expect(describeBudget(line('session', 0), used(0, 0))).toBe('$0.00 of $5.00');
  expect(describeBudget(line('day', 2), used(0, 900))).toBe('$2.00 of $5.00');
});

test('the share of runs that passed counts runs that ended with an error', () => {
  expect(passedText({ runs: 4, passed: 3 })).toBe('75 %');
  expect(passedText({ runs: 0, passed: 0 })).toBe('–');
});

test('the end of the entries says how many are listed, and what is not', () => {
  expect(endText(15)).toBe('That is all: 15 entries listed. Timers and joining replicas are not.');
  expect(endText(1)).toMatch(/^That is all: 1 entry listed/);
});

test('times in texts of the service are the reader’s', () => {
  const iso = '2026-11-23T02:13:04.567Z';
  expect(inLocalTime(`It is paused by Ann until ${iso}: its stops are not judged.`)).toBe(
    `It is paused by Ann until ${dateTime(Date.parse(iso))}: its stops are not judged.`,
  );
  expect(inLocalTime('T-1 of 2026-11-23')).toBe('T-1 of 2026-11-23');
});

test('a replica judges since its start, not since it became a member', () => {
  const replica = { name: 'r1', isSelf: true, state: 'judging', joinedMs: 1_000 } as ReplicaLine;
  const sinceMs = Date.parse('2026-11-23T02:13:04Z');
  expect(describeJudging({ replicas: [replica], judgesSinceMs: sinceMs })).toBe(
    `One replica judges; this one since ${dateTime(sinceMs)}.`,
  );
  expect(describeJudging({ replicas: [replica, replica], judgesSinceMs: null })).toBe('2 replicas judge.');
});

describe('the order of a column', () => {
  test('is that of the values shown: the first click on a count or an age shows the largest', () => {
    for (const key of ['retries', 'cost', 'since', 'idle', 'priority', 'pending', 'oldest']) {
      expect(directionOf(key, key)).toBe('descending');
      expect(directionOf(key, `-${key}`)).toBe('ascending');
    }
    for (const key of ['worker', 'why', 'task', 'seen']) {
      expect(directionOf(key, key)).toBe('ascending');
      expect(directionOf(key, `-${key}`)).toBe('descending');
    }
    expect(directionOf('state', 'state')).toBe('other');
    expect(directionOf('task', 'worker')).toBe('none');
  });
});

describe('a timer', () => {
  const iso = '2026-11-23T02:13:04.000Z';
  const view = (fields: object) =>
    ({
      attempt: null,
      paused: null,
      tasks: [],
      state: 'idle',
      presence: 'stale',
      idle: { ms: 0, limitMs: null },
      ...fields,
    }) as unknown as WorkerView;
  const times = { staleAfterMs: 120_000, idleSinceMs: 0, nowMs: 0 };

  test('says in the reader’s time when a check is asked again', () => {
    const attempt = { waitsFor: 'check ci', since: iso, until: null, pending: { reason: null, askedAgainAt: iso } };
    const [timer] = timersOf(view({ attempt, tasks: ['T-1'] }), times);
    expect(timer?.outcome).toContain(`asked again at ${time(Date.parse(iso))}`);
  });

  test('is not shown for an idle worker without persistence, which waits for nothing', () => {
    expect(timersOf(view({}), times)).toEqual([]);
    expect(timersOf(view({ idle: { ms: 0, limitMs: 600_000 } }), times)).toMatchObject([
      { name: 'idle', untilMs: 600_000 },
    ]);
  });
});
