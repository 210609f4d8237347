/** Reads the end of a usage limit from messages of agents and their APIs. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { limitEndOf } from '../../../src/acp/messages.ts';
import { claude } from '../../../src/agents/claude/callers.ts';
import { qwen } from '../../../src/agents/qwen/adapter.ts';
import { limitEndIn, mentionsLimit } from '../../../src/agents/shared/limit-end.ts';
import { limitEndOf as limitOfTurn } from '../../../src/cli/commands/agents/loop-turns.ts';

const nowMs = Date.parse('2026-03-02T12:00:00.000Z');

test.each([
  { words: 'Claude AI usage limit reached|1772463600', until: '2026-03-02T15:00:00.000Z' },
  { words: "You've hit your session limit · resets 3pm (UTC)", until: '2026-03-02T15:00:00.000Z' },
  { words: '5-hour limit reached ∙ resets 3am (UTC)', until: '2026-03-03T03:00:00.000Z' },
  { words: 'Session limit reached ∙ resets 12am (UTC)', until: '2026-03-03T00:00:00.000Z' },
  { words: 'Session limit reached ∙ resets 12:30pm (UTC)', until: '2026-03-02T12:30:00.000Z' },
  { words: 'Limit reached ∙ resets 3pm (Europe/Berlin)', until: '2026-03-02T14:00:00.000Z' },
  // The clocks in that zone go forward on 29 March.
  { words: 'Weekly limit reached ∙ resets Mar 30, 9am (Europe/Berlin)', until: '2026-03-30T07:00:00.000Z' },
  { words: 'Weekly limit reached ∙ resets Mar 9 at 5pm (UTC)', until: '2026-03-09T17:00:00.000Z' },
  { words: "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.", until: '2026-03-05T16:05:00.000Z' },
  { words: 'Rate limit reached for m. Please try again in 1m2.5s. Visit …', until: '2026-03-02T12:01:02.500Z' },
  { words: 'Rate limit reached. Please try again in 250ms.', until: '2026-03-02T12:00:00.250Z' },
  { words: 'Your quota will reset after 2h34m12s.', until: '2026-03-02T14:34:12.000Z' },
  { words: 'You exceeded your current quota. Please retry in 35.08s.', until: '2026-03-02T12:00:35.080Z' },
  { words: '{"@type":"…RetryInfo","retryDelay":"34s"}', until: '2026-03-02T12:00:34.000Z' },
  { words: 'Your limit will reset at 3pm (America/Santiago).', until: '2026-03-02T18:00:00.000Z' },
  { words: 'Resets Mar 20, 10:59am (UTC)', until: '2026-03-20T10:59:00.000Z' },
  { words: 'resets 20 March, 10:59 (UTC)', until: '2026-03-20T10:59:00.000Z' },
  { words: 'try again at Mar 3rd, 2026 9:41 AM (UTC)', until: '2026-03-03T09:41:00.000Z' },
  { words: 'Session limit reached, resets 15:30 (UTC)', until: '2026-03-02T15:30:00.000Z' },
  { words: 'resets at 09:15 UTC', until: '2026-03-03T09:15:00.000Z' },
  // The current day is a Monday.
  { words: 'Weekly limit reached, resets Monday at 9am (UTC)', until: '2026-03-09T09:00:00.000Z' },
  { words: 'resets Thursday, 9am (Europe/Berlin)', until: '2026-03-05T08:00:00.000Z' },
  { words: 'try again tomorrow at 09:30 UTC', until: '2026-03-03T09:30:00.000Z' },
  { words: 'resets at 2026-03-02T17:30:00Z', until: '2026-03-02T17:30:00.000Z' },
  { words: 'not available until 2026-03-02 17:30+02:00', until: '2026-03-02T15:30:00.000Z' },
  { words: 'Please try again in about 5 minutes.', until: '2026-03-02T12:05:00.000Z' },
  { words: 'Retry-After: 120', until: '2026-03-02T12:02:00.000Z' },
  { words: '{"retry-after-ms":"1500"}', until: '2026-03-02T12:00:01.500Z' },
  { words: 'retry-after: Mon, 02 Mar 2026 12:30:00 GMT', until: '2026-03-02T12:30:00.000Z' },
  { words: '{"type":"usage_limit_reached","resets_in_seconds":3600}', until: '2026-03-02T13:00:00.000Z' },
  { words: '{"resets_at":1772463600}', until: '2026-03-02T15:00:00.000Z' },
])('$words', ({ words, until }) => {
  expect(limitEndIn(words, nowMs)).toBe(until);
});

test.each([
  { what: 'no time', words: 'API Error: Request rejected (429) · usage limit reached' },
  { what: 'a time of day without its zone', words: '5-hour limit reached ∙ resets 3am' },
  { what: 'an unknown zone', words: 'limit reached ∙ resets 3am (Mars/Olympus)' },
  { what: 'an invalid time of day', words: 'limit reached ∙ resets 31pm (UTC)' },
  { what: 'a day almost a year ahead', words: 'Resets Dec 2, 10:59am (UTC)' },
  { what: 'an hour without am or pm', words: 'resets at 3 (UTC)' },
  { what: 'a field with a time of day', words: 'Retry-After: 12:30' },
  { what: 'the seconds of a test', words: 'rate limit: 5 tests in 3s' },
  { what: 'a past time', words: 'usage limit reached|1572463600' },
  { what: 'a time beyond a month', words: 'usage limit reached, try again in 90 days' },
  { what: 'an unknown unit', words: 'usage limit reached, try again in 5 moons' },
  { what: 'a word that only starts like a unit', words: 'try again in 5 different ways' },
  { what: 'a time far from the beginning', words: `${'x'.repeat(5_000)} try again in 5s` },
])('$what has no known end', ({ words }) => {
  expect(limitEndIn(words, nowMs)).toBeNull();
});

test('long messages are read quickly', () => {
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
  ])('$agent reports it with the failure that ends its turn', ({ read }) => {
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
])('an ACP agent reports it in its error: $error', ({ error, until }) => {
  expect(limitEndOf(error, nowMs)).toBe(until);
});

test.each([
  ['usage limit reached', true],
  ['429 Too Many Requests', true],
  ['You exceeded your current quota', true],
  ['RESOURCE_EXHAUSTED', true],
  ["You've hit your session limit", true],
  ['expected 4290 to be 7', false],
  ['src/a.ts:429: unused', false],
  // Messages of Claude Code 2.1.332, Codex 0.171.0 and Gemini CLI 0.61.0.
  ["You've hit your limit · resets 1:30am (Asia/Dhaka)", true],
  ["You've hit your Opus limit · resets 3pm (UTC)", true],
  ["You've hit your monthly spend limit.", true],
  ['Your org is out of usage · contact your admin', true],
  ["You're out of usage credits. Switch to another model", true],
  ['{"type":"error","error":{"type":"rate_limit_error","message":"x"}}', true],
  ['You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage or try again at 2:18 AM.', true],
  ["You're out of Codex messages", true],
  ['Your workspace is out of credits. Add credits to continue.', true],
  ['usageLimitExceeded', true],
  ['exceeded retry limit, last status: 429 Too Many Requests', true],
  ['insufficient_quota', true],
  ['You have exhausted your capacity on this model. Your quota will reset after 2h1m5s.', true],
  ['You have exhausted your daily quota on this model.', true],
  ["You've reached your turn limit", false],
  ['out of memory', false],
  ['there is no limit to this', false],
  ['context length limit exceeded', false],
  ['prompt is too long: token limit reached', false],
  ['output token limit exceeded', false],
  ['rate limit of 40,000 input tokens per minute', true],
  ['Max plan: weekly limit reached', true],
  ['out of memory', false],
])('%j reports a limit: %s', (words, tells) => {
  expect(mentionsLimit(words)).toBe(tells);
});

test('an unknown failure that mentions a limit is a limit without an end; other known kinds are not', () => {
  const of = (more: object) =>
    claude
      .readHook({ session_id: 's1', hook_event_name: 'StopFailure', ...more }, undefined)
      .translate({ registered: true, plan: [], background: [] } as never)
      .entries.map(({ type, data }) => [type, data]);
  expect(of({ error: 'new_kind', error_details: 'weekly limit reached' })).toEqual([['limit.reached', {}]]);
  expect(of({ error: 'unknown', last_assistant_message: '429' })).toEqual([['limit.reached', {}]]);
  expect(of({ error: 'server_error', error_details: 'rate limit' })).toEqual([]);
  expect(of({ error: 'unknown', error_details: 'socket hang up' })).toEqual([]);
});

describe('a turn of stopgate loop that was stopped by a limit', () => {
  const until = '2026-03-02T15:00:00.000Z';
  test.each([
    'Working.\nClaude AI usage limit reached|1772463600\n',
    "ERROR: You've hit your usage limit. Try again in 3 hours.",
    '  "message": "You exceeded your current quota. Please retry in 3h.",',
    '\u001b[31mSession limit reached ∙ resets 3pm (UTC)\u001b[0m',
  ])('%j', (words) => {
    expect(limitOfTurn(words, nowMs)).toBe(until);
  });

  test.each([
    ['on two lines', 'rate limit reached\nretrying in 3h'],
    ['in a diff', "-  'usage limit reached, try again in 3h'"],
    ['in a report of a test', '  ✗ says "rate limit: try again in 3h"'],
    ['in an assertion', "AssertionError: expected 'usage limit, try again in 3h' to be null"],
    ['in source code', "  const words = 'usage limit reached, try again in 3h';"],
    ['as a quotation', '> usage limit reached, try again in 3h'],
    ['of something else', 'Build failed, try again in 3h'],
  ])('is not recognised from words %s', (_where, words) => {
    expect(limitOfTurn(words, nowMs)).toBeNull();
  });
});
