/** The style sheets have no unused classes, attributes or tokens. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../src/inspector/', import.meta.url);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
const read = (end: RegExp) =>
  files.filter((file) => end.test(file)).map((file) => readFileSync(new URL(file, root), 'utf8'));
const pages = read(/\.(tsx?|html)$/).join('\n');
const sheets = read(/\.css$/).map((text) => text.replace(/\/\*[\s\S]*?\*\//g, ''));

/** The selectors of the style sheets, including nested ones. */
const selectors = sheets.flatMap((text) => [...text.matchAll(/([^{};]+)\{/g)].map(([, selector = '']) => selector));

/** Classes composed of a prefix and a name: columns, ranks, marks on the time axis. */
const made = /^(?:c|rank|line)-/;

/** As `data-last-entry` or `dataset.lastEntry`. */
const spellings = (name: string) => [
  name,
  name.replace(/^data-/, '').replace(/-(\w)/g, (_, letter) => letter.toUpperCase()),
];
const isNamed = (name: string): boolean => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(pages);

test('every class in a selector is used by a page', () => {
  const classes = new Set(
    selectors.flatMap((selector) => [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name)),
  );
  expect(classes.size).toBeGreaterThan(150);
  expect(
    [...classes].filter((className) => !isNamed(made.test(className) ? className.replace(made, '') : className)),
  ).toEqual([]);
});

test('every attribute in a selector is used by a page', () => {
  const names = new Set(
    selectors.flatMap((selector) => [...selector.matchAll(/\[(data-[\w-]+)/g)].map(([, name = '']) => name)),
  );
  expect(names.size).toBeGreaterThan(20);
  expect([...names].filter((attribute) => !spellings(attribute).some(isNamed))).toEqual([]);
});

test('every token is used, and every token used without a fallback is set', () => {
  const text = [...sheets, pages].join('\n');
  const set = new Set([...text.matchAll(/['"{;\s](--[\w-]+)['"]?:/g)].map(([, name = '']) => name));
  const used = new Set([...text.matchAll(/(--[a-z][\w-]*)(?=[),])/g)].map(([, name = '']) => name));
  expect([...set].filter((property) => !used.has(property) && !/^--state-/.test(property))).toEqual([]);
  const needed = [...sheets.join('\n').matchAll(/var\((--[\w-]+)\)/g)].map(([, name = '']) => name);
  expect([...new Set(needed)].filter((property) => !set.has(property))).toEqual([]);
});
