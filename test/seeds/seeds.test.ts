/** Every rule of every seed is a test here, and docs/seeds.md has the tables that the rules make. */
import { beforeEach, describe, expect, test } from 'vitest';
import { seeds } from './seeds.ts';
import { stage } from './stage.ts';
import { readPage, renderPage } from './table.ts';

beforeEach(() => {
  expect.hasAssertions();
});

for (const { number, title, parts } of seeds) {
  describe(`seed ${number}, ${title}`, () => {
    for (const { name, rules } of parts) {
      describe(name, () => {
        for (const { claim, check } of rules) stage(claim, check);
      });
    }
  });
}

test.fails('a rule whose check asserts nothing fails', () => {});

test('no claim is made twice', () => {
  const claims = seeds.flatMap(({ number, parts }) =>
    parts.flatMap(({ name, rules }) => rules.map(({ claim }) => `${number}, ${name}: ${claim}`)),
  );
  expect(claims).toEqual([...new Set(claims)]);
});

test('docs/seeds.md has the tables as the rules give them: if not, run "npm run seeds:table"', async () => {
  await expect(renderPage(await readPage(), seeds)).toMatchFileSnapshot('../../docs/seeds.md');
});
