/** What `npm run test:mutants` finds to change in a source. */
import { expect, test } from 'vitest';
import { describeChange, findMutations, mutate, placeOf } from '../../mutants/mutations.ts';

const source = `import { z } from 'zod';
type Id = 'a' | true;
export function find(list: readonly number[], max: number): number | null {
  'use strict';
  for (const it of list) {
    if (it < max && it !== 0) return it;
    note(it);
  }
  return max > 0 ? null : 1 - max;
}
`;
const found = findMutations('machines/find.ts', source);

test('operators, conditions, booleans and statements, each with its place; no types, no imports, no last result', () => {
  expect(found.map((it) => `${placeOf(it)} ${it.what}`)).toEqual([
    'machines/find.ts:6:9 the condition is negated',
    'machines/find.ts:6:18 && becomes ||',
    'machines/find.ts:6:12 < becomes <=',
    'machines/find.ts:6:24 !== becomes ===',
    'machines/find.ts:6:31 the statement is removed',
    'machines/find.ts:7:5 the statement is removed',
    'machines/find.ts:9:10 the condition is negated',
    'machines/find.ts:9:14 > becomes >=',
    'machines/find.ts:9:29 - becomes +',
  ]);
});

test('one of them changes that place alone, and is shown as a difference', () => {
  const [negated, , , , , removed] = found;
  if (negated === undefined || removed === undefined) return expect.unreachable();
  expect(mutate(source, negated)).toBe(source.replace('it < max && it !== 0', '!(it < max && it !== 0)'));
  expect(describeChange(source, removed)).toEqual(['-     note(it);', '+     {}']);
});
