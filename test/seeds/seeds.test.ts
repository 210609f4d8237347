/** Every rule of the seeds is a test here or a case in test/conformance. docs/seeds.md has tables of all rules. */
import { readFile } from 'node:fs/promises';
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
        for (const { claim, proof } of rules) if (typeof proof === 'function') stage(claim, proof);
      });
    }
  });
}

test.fails('a rule whose check asserts nothing fails', () => {});

test('each case that a rule names exists in test/conformance', async () => {
  const named = seeds.flatMap(({ parts }) => parts.flatMap(({ rules }) => rules.map(({ proof }) => proof)));
  for (const proof of named) {
    if (typeof proof === 'function') continue;
    const file = new URL(`../conformance/${proof.topic}.json`, import.meta.url);
    const { cases } = JSON.parse(await readFile(file, 'utf8')) as { cases: readonly { name: string }[] };
    expect(cases.map(({ name }) => name)).toContain(proof.name);
  }
});

test('no claim occurs twice', () => {
  const claims = seeds.flatMap(({ number, parts }) =>
    parts.flatMap(({ name, rules }) => rules.map(({ claim }) => `${number}, ${name}: ${claim}`)),
  );
  expect(claims).toEqual([...new Set(claims)]);
});

test('each difference has a reason', () => {
  const departures = seeds.flatMap(({ parts }) =>
    parts.flatMap(({ rules }) => rules.flatMap((rule) => rule.differs ?? [])),
  );
  expect(departures.filter((text) => !/\b(because|since)\b/.test(text))).toEqual([]);
});

test('docs/seeds.md has the current tables: if not, run "npm run seeds:table"', async () => {
  await expect(renderPage(await readPage(), seeds)).toMatchFileSnapshot('../../docs/seeds.md');
});
