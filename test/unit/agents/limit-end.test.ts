/** When a usage limit ends, in the words of agents and of the APIs behind them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { limitEndOf } from '../../../src/acp/messages.ts';
import { claude } from '../../../src/agents/claude/adapter.ts';
import { qwen } from '../../../src/agents/qwen/adapter.ts';
import { limitEndIn } from '../../../src/agents/shared/limit-end.ts';

const nowMs = Date.parse('2026-03-02T12:00:00.000Z');

test.each([
  { words: 'Claude AI usage limit reached|1772463600', until: '2026-03-02T15:00:00.000Z' },
  { words: "You've hit your session limit · resets 3pm (UTC)", until: '2026-03-02T15:00:00.000Z' },
  { words: '5-hour limit reached ∙ resets 3am (UTC)', until: '2026-03-03T03:00:00.000Z' },
  { words: 'Session limit reached ∙ resets 12am (UTC)', until: '2026-03-03T00:00:00.000Z' },
  { words: 'Session limit reached ∙ resets 12:30pm (UTC)', until: '2026-03-02T12:30:00.000Z' },
  { words: 'Limit reached ∙ resets 3pm (Europe/Berlin)', until: '2026-03-02T14:00:00.000Z' },
  // The clocks there go forward on 29 March.
  { words: 'Weekly limit reached ∙ resets Mar 30, 9am (Europe/Berlin)', until: '2026-03-30T07:00:00.000Z' },
  { words: 'Weekly limit reached ∙ resets Mar 9 at 5pm (UTC)', until: '2026-03-09T17:00:00.000Z' },
  { words: "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.", until: '2026-03-05T16:05:00.000Z' },
  { words: 'Rate limit reached for m. Please try again in 1m2.5s. Visit …', until: '2026-03-02T12:01:02.500Z' },
  { words: 'Rate limit reached. Please try again in 250ms.', until: '2026-03-02T12:00:00.250Z' },
  { words: 'Your quota will reset after 2h34m12s.', until: '2026-03-02T14:34:12.000Z' },
  { words: 'You exceeded your current quota. Please retry in 35.08s.', until: '2026-03-02T12:00:35.080Z' },
  { words: '{"@type":"…RetryInfo","retryDelay":"34s"}', until: '2026-03-02T12:00:34.000Z' },
])('$words', ({ words, until }) => {
  expect(limitEndIn(words, nowMs)).toBe(until);
});

test.each([
  { what: 'no time', words: 'API Error: Request rejected (429) · usage limit reached' },
  { what: 'a time of day without its zone', words: '5-hour limit reached ∙ resets 3am' },
  { what: 'a zone that is none', words: 'limit reached ∙ resets 3am (Mars/Olympus)' },
  { what: 'no time of day', words: 'limit reached ∙ resets 31pm (UTC)' },
  { what: 'a past time', words: 'usage limit reached|1572463600' },
  { what: 'a time beyond a month', words: 'usage limit reached, try again in 90 days' },
  { what: 'a unit that is none', words: 'usage limit reached, try again in 5 moons' },
  { what: 'a word that only begins as a unit', words: 'try again in 5 different ways' },
  { what: 'a time far behind the start', words: `${'x'.repeat(5_000)} try again in 5s` },
])('$what is not known', ({ words }) => {
  expect(limitEndIn(words, nowMs)).toBeNull();
});

test('long words are read in no time', () => {
  const words = `try again in ${'1 day, '.repeat(100_000)}`;
  expect(limitEndIn(words, nowMs)).toBe('2026-03-07T12:00:00.000Z');
});

describe('agents', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: nowMs, toFake: ['Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const unknown = { registered: true, plan: [], background: [], limited: false } as never;

  test.each([
    { agent: 'Claude Code', read: claude.readHook },
    { agent: 'Qwen Code', read: qwen.readHook },
  ])('$agent says it with the failure that ends its turn', ({ read }) => {
    const call = { session_id: 's1', hook_event_name: 'StopFailure', error: 'rate_limit' };
    const limitOf = (more: object) =>
      read({ ...call, ...more }, undefined)
        .translate(unknown)
        .entries.at(-1);
    const limit = { entity: 'worker', id: 's1', type: 'limit.reached' };
    const until = '2026-03-02T15:00:00.000Z';
    expect(limitOf({ last_assistant_message: 'limit reached ∙ resets 3pm (UTC)' })).toEqual({
      ...limit,
      data: { until },
    });
    expect(limitOf({ error_details: '429 try again in 3h' })).toEqual({ ...limit, data: { until } });
    expect(limitOf({ last_assistant_message: 'limit reached' })).toEqual({ ...limit, data: {} });
  });
});

test.each([
  { error: { code: 429, message: 'busy', data: { retryAfter: 60 } }, until: '2026-03-02T12:01:00.000Z' },
  { error: { code: 429, message: 'busy', data: { retry_after: 1.5 } }, until: '2026-03-02T12:00:01.500Z' },
  { error: { data: { errorKind: 'rate_limit', resetsAt: 1_772_463_600 } }, until: '2026-03-02T15:00:00.000Z' },
  { error: { code: -32603, message: 'Please retry in 35s', data: { status: 429 } }, until: '2026-03-02T12:00:35.000Z' },
  { error: { code: 429, message: 'busy', data: { retryAfter: -1 } }, until: null },
  { error: 'busy', until: null },
])('an agent of ACP says it in its error: $error', ({ error, until }) => {
  expect(limitEndOf(error, nowMs)).toBe(until);
});
