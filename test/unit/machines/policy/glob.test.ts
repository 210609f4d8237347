/** Globs over file paths. */
import { expect, test } from 'vitest';
import { matchesGlob } from '../../../../machines/policy/glob.ts';

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

// A matcher that goes back would not come to an end here.
test.each([
  { glob: '*a'.repeat(128), path: `${'a'.repeat(4_000)}b` },
  { glob: `${'*a'.repeat(127)}b`, path: 'a'.repeat(60_000) },
  { glob: `src/${'*a'.repeat(120)}`, path: 'a'.repeat(60_000) },
])('a hostile pattern ends: $glob', ({ glob, path }) => {
  expect(matchesGlob(glob, path)).toBe(false);
});
