/** The small pure parts: globs, promises, times, durations, plans, deadlines. */
import { describe, expect, test } from 'vitest';
import { createDeadlines } from '../../../machines/fleet/deadlines.ts';
import {
  durationSchema,
  formatDuration,
  formatIsoTime,
  parseIsoTime,
  policySetSchema,
  readPromises,
} from '../../../machines/index.ts';
import { remainingStepsMessage } from '../../../machines/policy/checks/plan.ts';
import { matchesGlob } from '../../../machines/policy/glob.ts';
import { updateStep } from '../../../machines/policy/plan.ts';

describe('globs', () => {
  test.each([
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a/b.ts', false],
    ['**/x.ts', 'x.ts', true],
    ['**/x.ts', 'a/b/x.ts', true],
    ['**/x.ts', 'ax.ts', false],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['a/**/z', 'a/bz', false],
    ['?.md', 'é.md', true],
    ['./src/*', 'src/a', true],
    ['*', '', true],
    ['a.c', 'abc', false],
  ])('%s and %s: %s', (glob, path, matches) => {
    expect(matchesGlob(glob, path)).toBe(matches);
  });

  test('a hostile pattern costs no more than its length', () => {
    const started = performance.now();
    expect(matchesGlob('*a'.repeat(128), `${'a'.repeat(4_000)}b`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('promises', () => {
  test.each([
    ['plain', '<promise>COMPLETE</promise>', ['COMPLETE']],
    ['white space', '<promise>\n BLOCKED </promise>', ['BLOCKED']],
    ['other words in the tag', '<promise>not COMPLETE</promise>', []],
    ['an attribute', '<promise x>COMPLETE</promise>', []],
    ['inline code', 'say `<promise>COMPLETE</promise>`', []],
    ['two backticks around one', '`` ` <promise>COMPLETE</promise> ``', []],
    ['a lone backtick is no code', 'a ` and <promise>COMPLETE</promise>', ['COMPLETE']],
    ['a backtick of another paragraph', 'a `\n\n<promise>COMPLETE</promise> `', ['COMPLETE']],
    ['a tilde fence', '~~~\n<promise>COMPLETE</promise>\n~~~', []],
    ['an unclosed fence', '```\n<promise>COMPLETE</promise>', []],
    ['a longer fence is not closed by a shorter one', '````\n```\n<promise>COMPLETE</promise>\n````', []],
    ['after a fence', '```\nx\n```\n<promise>COMPLETE</promise>', ['COMPLETE']],
    ['a quoted line', '   > <promise>COMPLETE</promise>', []],
    ['four spaces are no quote', '    > <promise>COMPLETE</promise>', ['COMPLETE']],
    ['several', '<promise>COMPLETE</promise><promise>ESCALATE</promise>', ['COMPLETE', 'ESCALATE']],
  ])('%s', (_why, output, names) => {
    expect([...readPromises(output)]).toEqual(names);
  });
});

describe('times', () => {
  test.each([0, 951_782_400_000, 1_772_452_800_250, 4_102_444_799_999, -1])('%i goes to text and back', (atMs) => {
    expect(formatIsoTime(atMs)).toBe(new Date(atMs).toISOString());
    expect(parseIsoTime(new Date(atMs).toISOString())).toBe(atMs);
  });

  test.each(['yesterday', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01', '2026-01-01T00:00:00+01:00'])(
    '%s is none',
    (text) => {
      expect(parseIsoTime(text)).toBeNull();
    },
  );

  test.each([
    ['250ms', 250],
    ['50s', 50_000],
    ['10m', 600_000],
    ['1.5h', 5_400_000],
    [700, 700],
  ])('the duration %s is %i ms', (text, ms) => {
    expect(durationSchema.parse(text)).toBe(ms);
  });

  test.each(['10', 'm', '-5s', '1d', -1, 1.5])('%s is no duration', (text) => {
    expect(durationSchema.safeParse(text).success).toBe(false);
  });

  test.each([
    [0, '0s'],
    [250, '250ms'],
    [90_000, '1m 30s'],
    [3_900_000, '1h 5m'],
  ])('%i ms reads %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('a plan', () => {
  test('goes step by step: added, changed, taken out', () => {
    const one = updateStep([], { step: '1' });
    expect(one).toEqual([{ title: '1', status: 'pending', step: '1' }]);
    const done = updateStep(one, { step: '1', title: 'Write', status: 'done' });
    expect(remainingStepsMessage(done)).toBeNull();
    expect(updateStep(done, { step: '1', status: 'deleted' })).toEqual([]);
    expect(updateStep(done, { step: '9', status: 'deleted' })).toBe(done);
  });

  test('cuts titles between code points', () => {
    expect(remainingStepsMessage([{ title: '🙂'.repeat(40), status: 'pending' }])).toBe(
      `1 of 1 plan steps remain: ${'🙂'.repeat(30)}`,
    );
  });
});

test('deadlines come in order of time, then kind, then id', () => {
  const deadlines = createDeadlines();
  const given = [
    { atMs: 5, kind: 'stale', id: 'a' },
    { atMs: 5, kind: 'attempt', id: 'b' },
    { atMs: 1, kind: 'limit', id: 'z' },
    { atMs: 5, kind: 'attempt', id: 'a' },
    { atMs: 3, kind: 'stale', id: 'c' },
  ] as const;
  for (const deadline of given) deadlines.push({ ...deadline, attempt: '' });
  const order = given.map(() => deadlines.pop()).map((it) => `${it?.atMs} ${it?.kind} ${it?.id}`);
  expect(order).toEqual(['1 limit z', '3 stale c', '5 attempt a', '5 attempt b', '5 stale a']);
  expect(deadlines.size).toBe(0);
});

test('the second check of a name that is as long as names may be still has a name', () => {
  const name = 'n'.repeat(128);
  const { policies } = policySetSchema.parse({
    policies: {
      default: {
        checks: [
          { name, plan: {} },
          { name, plan: {} },
        ],
      },
    },
  });
  const names = policies.get('default')?.checks.map((check) => check.name);
  expect(names).toEqual([name, `${'n'.repeat(126)}-2`]);
});
