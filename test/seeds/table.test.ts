/**
 * The tables of docs/seeds.md: each rule of each seed document with the tests that show it. The rules are data
 * (`rules/`); here it is held to the tests that there are. `npm run seeds:table` writes them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Rule } from './rules/rule.ts';
import { seed000 } from './rules/seed-000.ts';
import { seed001 } from './rules/seed-001.ts';
import { seed002 } from './rules/seed-002.ts';
import { seed003 } from './rules/seed-003.ts';
import { seed004 } from './rules/seed-004.ts';

const seeds: readonly (readonly [title: string, rules: readonly Rule[]])[] = [
  ['seed 000, Stop Hooks Specification', seed000],
  ['seed 001, Stop Hook System', seed001],
  ['seed 002, Task Completion Checking', seed002],
  ['seed 003, a deterministic stop hook', seed003],
  ['seed 004, Worker Persistence Concepts', seed004],
];
const tests = new URL('..', import.meta.url);
const page = new URL('../../docs/seeds.md', import.meta.url);
const [begin, end] = ['<!-- seeds -->', '<!-- /seeds -->'];

describe.each(seeds)('%s', (_title, rules) => {
  test.each(rules.map((it) => [`${it.rule}: ${it.says}`, it] as const))('%s', (_words, { test: shown }) => {
    expect(shown).not.toEqual([]);
    expect(shown.filter((reference) => !exists(reference))).toEqual([]);
  });

  test('says nothing twice', () => {
    const said = rules.map(({ rule, says }) => `${rule}: ${says}`);
    expect(said).toEqual([...new Set(said)]);
  });
});

test('a reference to no test is noticed', () => {
  expect(exists('seeds/table › a reference to no test is noticed')).toBe(true);
  expect(exists('seeds/table › there is no such test')).toBe(false);
  expect(exists('seeds/nowhere › a reference to no test is noticed')).toBe(false);
  expect(exists('conformance/idle › there is no such case')).toBe(false);
});

test('docs/seeds.md has the table as the rules give it: if not, run "npm run seeds:table"', async () => {
  const text = readFileSync(page, 'utf8');
  const [before = '', rest = ''] = text.split(`${begin}\n`);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`docs/seeds.md has no block from ${begin} to ${end}`);
  await expect(`${before}${begin}\n${seeds.map(tableOf).join('\n')}${end}${after}`).toMatchFileSnapshot(page.pathname);
});

function tableOf([title, rules]: (typeof seeds)[number]): string {
  const differing = rules.filter(({ differs }) => differs !== undefined).length;
  const rows = rules.map(({ rule, says, differs, test: shown }) => {
    const cells = [rule, differs === undefined ? says : `${says}. *Here: ${differs}*`, shown.map(shortOf).join('<br>')];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  });
  const summary = `${title[0]?.toUpperCase()}${title.slice(1)}: ${rules.length} rules, ${differing} with a word on how it is here`;
  return [
    `<details><summary>${summary}</summary>\n\n`,
    '| part | rule | shown by |\n| --- | --- | --- |\n',
    ...rows,
    '\n</details>\n',
  ].join('');
}

/** The file and the last title; the one before it too where a table fills the last in. */
function shortOf(reference: string): string {
  const [place, ...titles] = reference.split(' › ');
  const last = titles.at(-1)?.includes('%') ? titles.slice(-2) : titles.slice(-1);
  return `\`${place}\` ${last.join(' › ').replaceAll('<', '&lt;')}`;
}

const known = new Map<string, ReadonlySet<string>>();

function exists(reference: string): boolean {
  const [place = '', ...titles] = reference.split(' › ');
  const found = known.get(place) ?? titlesOf(place);
  known.set(place, found);
  return titles.length > 0 && titles.every((title) => found.has(title));
}

/** What the tests of a file, or the cases of a conformance file, are called. */
function titlesOf(place: string): ReadonlySet<string> {
  const cases = new URL(`${place}.json`, tests);
  if (existsSync(cases)) {
    const file = JSON.parse(readFileSync(cases, 'utf8')) as { cases: { name: string }[] };
    return new Set(file.cases.map(({ name }) => name));
  }
  const source = new URL(`${place}.test.ts`, tests);
  if (!existsSync(source)) return new Set();
  // `test('…'`, `describe('…'`, and `)('…'` after a table; a skipped one is none.
  const titles = readFileSync(source, 'utf8').matchAll(
    /(?:\b(?:test|it|describe)|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1\s*,/g,
  );
  return new Set([...titles].map(([, , title = '']) => title.replaceAll(/\\(.)/g, '$1')));
}
