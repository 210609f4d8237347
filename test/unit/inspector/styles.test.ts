/** The style sheets have no unused classes, attributes or tokens, and the look of the page is made of few tokens. */
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

const tokensFile = 'client/styles/tokens.css';
const sheetsByName = files
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.css'))
  .map((file) => ({
    file,
    css: readFileSync(new URL(file, root), 'utf8').replace(/\/\*[\s\S]*?\*\//g, ''),
  }));

test('only the tokens have colours, and only they and the drawing of the chart have sizes and weights of text', () => {
  const others = sheetsByName.filter(({ file }) => file !== tokensFile);
  expect(others.length).toBe(sheetsByName.length - 1);
  for (const { file, css } of others) {
    expect(css.match(/#[\da-f]{3,8}\b|light-dark\(|hsl\(|oklch\(/gi) ?? [], file).toEqual([]);
    // The chart's text is measured in the units of its drawing.
    if (file === 'client/chart/chart.css') continue;
    expect(css.match(/font-size: [^v;][^;]*/g) ?? [], file).toEqual([]);
    expect(css.match(/font-weight: (?!var\(|400)[^;]*/g) ?? [], file).toEqual([]);
  }
});

test('what is usual is grey: colours are for exceptions', () => {
  const css = sheetsByName.find(({ file }) => file === tokensFile)?.css ?? '';
  for (const state of ['idle', 'working', 'validating', 'stopped']) {
    const colours =
      new RegExp(`--state-${state}: light-dark\\((#[\\da-f]{6}), (#[\\da-f]{6})\\)`).exec(css)?.slice(1) ?? [];
    expect(colours.length, state).toBe(2);
    for (const colour of colours) {
      const parts = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));
      expect(Math.max(...parts) - Math.min(...parts), `${state} ${colour}`).toBeLessThan(16);
    }
  }
});
