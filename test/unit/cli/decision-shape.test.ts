/** `isDecision` accepts every decision, and accepts nothing that cannot be printed. */
import { describe, expect, test } from 'vitest';
import { type Decision, decisionSchema } from '../../../machines/index.ts';
import { isDecision } from '../../../src/cli/commands/decide/stop-attempt.ts';
import { formatDecision } from '../../../src/cli/text/decision-text.ts';
import { createColors } from '../../../src/terminal/text.ts';

const decision: Decision = {
  v: 1,
  fleet: 'main',
  worker: 'w1',
  task: 'T-1',
  tasks: ['T-1'],
  attempt: 'a1',
  seq: 7,
  at: '2026-03-02T12:00:00.000Z',
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  reason: 'not yet',
  nextPrompt: 'go on',
  state: 'blocked',
  retry: { count: 1, max: 3 },
  keepAlives: { count: 0, max: null },
  pendingTasks: 0,
  policy: { name: 'default', seq: 1 },
  idle: { ms: 1, limitMs: 600_000, remainingMs: 599_999 },
  feedback: [{ check: 'plan', outcome: 'fail', message: '1 of 2 steps', details: null }],
  verdicts: [{ guard: 'checks', verdict: 'block', detail: 'plan', input: {}, tookMs: 1 }],
  replica: 'r1',
  tookMs: 1,
  dryRun: false,
};

/** Returns the paths of all values in `value`. A path is a list of keys. */
const pathsIn = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  typeof value !== 'object' || value === null
    ? [path]
    : [path, ...Object.entries(value).flatMap(([key, member]) => pathsIn(member, [...path, key]))];

function withValue(whole: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const member = withValue((whole as Record<string, unknown>)[key], rest, value);
  return Array.isArray(whole) ? whole.with(Number(key), member) : { ...(whole as object), [key]: member };
}

test('decisions are recognised, also with null and unknown fields', () => {
  expect(isDecision(decision)).toBe(true);
  expect(isDecision({ ...decision, task: null, attempt: null, seq: null, nextPrompt: null, feedback: [] })).toBe(true);
  expect(isDecision({ ...decision, retry: { count: 0, max: null }, later: 'field' })).toBe(true);
});

describe.each([undefined, null, 1, 'text', [], {}])('with %j', (wrong) => {
  test.each(pathsIn(decision).map((path) => [path.join('.'), path] as const))(
    'at "%s", the decision is printed, or rejected by the schema',
    (_name, path) => {
      const answer = withValue(decision, path, wrong);
      if (isDecision(answer)) expect(formatDecision(answer, createColors(false), 80).join('\n')).not.toBe('');
      else expect(decisionSchema.safeParse(answer).success).toBe(false);
    },
  );
});
