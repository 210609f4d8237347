/** Globs over file paths. */
import { expect, test } from 'vitest';
import { createWork, matchesAny, textMatcher, workMax } from '../../../../machines/policy/glob.ts';

const matchesGlob = (glob: string, path: string) => matchesAny(glob, [[path]], createWork(100_000_000));

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

// A backtracking matcher would not finish.
test.each([
  { glob: '*a'.repeat(128), path: `${'a'.repeat(4_000)}b` },
  { glob: `${'*a'.repeat(127)}b`, path: 'a'.repeat(60_000) },
  { glob: `src/${'*a'.repeat(120)}`, path: 'a'.repeat(60_000) },
])('a hostile pattern ends: $glob', ({ glob, path }) => {
  expect(matchesGlob(glob, path)).toBe(false);
});

const stepsOf = (glob: string, path: string): number => {
  const work = createWork();
  matchesAny(glob, [[path]], work);
  return workMax - work.left;
};

// Root cause: each was a separate state, and 84 of them took 5 ms per path.
test('repeated ** count as one', () => {
  const path = `${'a/'.repeat(500)}x`;
  expect(stepsOf(`${'**/'.repeat(84)}x`, path)).toBe(stepsOf('**/x', path));
  expect(stepsOf('**/x', path)).toBeLessThan(1_000 + 3 * path.length);
});

test('a path that differs at one end takes four steps', () => {
  expect(stepsOf('src/**', `lib/${'a'.repeat(1_000)}`)).toBe(1_000 + 4);
  expect(stepsOf('**/*.test.ts', `${'a/'.repeat(400)}x.ts`)).toBe(1_000 + 4);
});

test('gives no answer when the work limit is reached, and matches each glob only once', () => {
  const work = createWork(4_000);
  expect(matchesAny(`${'*a'.repeat(100)}b`, [[`${'a'.repeat(1_000)}ab`, 'ba']], work)).toBeNull();
  const { left: exhausted } = work;
  expect(matchesAny('*.ts', [['a.ts']], work)).toBeNull();
  expect(work.left, 'what is not done costs nothing').toBe(exhausted);
  const enough = createWork();
  expect(matchesAny('*.ts', [['a.ts']], enough)).toBe(true);
  const { left } = enough;
  expect(matchesAny('*.ts', [['a.ts']], enough)).toBe(true);
  expect(enough.left).toBe(left);
});

test.each([
  ['npx vitest run *', 'npx vitest run test/a.test.ts', true],
  ['cat a?b', 'cat a/b', true],
  ['?', '😀', true],
  ['npm test', 'npm tests', false],
  ['*test', 'npm test', true],
  ['a**b', 'a/x\ny b', true],
  ['./run', 'run', false],
  ['run', './run', false],
  [`${'x'.repeat(40)}?y*`, `${'x'.repeat(40)}/y z`, true],
  [`${'x'.repeat(40)}?y*`, `${'x'.repeat(40)}/z`, false],
])('as a text, %j and %j: %s', (glob, text, matches) => {
  expect(textMatcher(glob, createWork())(text)).toBe(matches);
});

test('a text is not matched when the work limit is reached', () => {
  expect(textMatcher('a', createWork(900))('a')).toBeNull();
  const matches = textMatcher('*a'.repeat(60), createWork(1_500));
  expect(matches(`${'ab'.repeat(300)}a`)).toBeNull();
  expect(matches('a')).toBeNull();
});
