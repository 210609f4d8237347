/** Renders the tables of docs/seeds.md: one table per seed, one row per rule. */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Rule, Seed } from './rule.ts';

const page = new URL('../../docs/seeds.md', import.meta.url);
const tests = new URL('./', import.meta.url);
const [begin, end] = ['<!-- seeds -->', '<!-- /seeds -->'];

export const readPage = (): Promise<string> => readFile(page, 'utf8');

/** Returns the page with new tables. */
export function renderPage(text: string, seeds: readonly Seed[]): string {
  const [before = '', rest = ''] = text.split(`${begin}\n`);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`docs/seeds.md has no block from ${begin} to ${end}`);
  return `${before}${begin}\n${seeds.map((seed) => linkParts(renderSeed(seed), seed)).join('\n')}${end}${after}`;
}

function renderSeed({ number, title, parts }: Seed): string {
  const rows = parts.flatMap(({ name, rules }) =>
    rules.map((rule) => ({ cells: [name, rule.claim, describeHere(rule)], differs: rule.differs })),
  );
  const differing = rows.filter(({ differs }) => differs !== null).length;
  return [
    `<details><summary>Seed ${number}, ${title}: ${rows.length} rules, ${differing} of them in another form</summary>\n\n`,
    '| part | rule | in stopgate |\n| --- | --- | --- |\n',
    ...rows.map(({ cells }) => `| ${cells.map(escapeCell).join(' | ')} |\n`),
    '\n</details>\n',
  ].join('');
}

/** Returns the difference in stopgate, and the case that shows the rule if it is not a test. */
function describeHere({ differs, proof }: Rule): string {
  const shown = typeof proof === 'function' ? [] : [`case “${proof.name}” of \`${proof.topic}.json\``];
  return [...(differs === null ? [] : [differs]), ...shown].join('; ');
}

/** Links each row to the file that declares its part, which has the test. */
function linkParts(table: string, { number, parts }: Seed): string {
  const folder = readdirSync(tests).find((name) => name.startsWith(`${number}-`)) ?? number;
  const files = readdirSync(new URL(`${folder}/`, tests)).map((name) => ({
    path: `${folder}/${name}`,
    text: readFileSync(new URL(`${folder}/${name}`, tests), 'utf8'),
  }));
  return parts.reduce((linked, { name }) => {
    const declared = new RegExp(`part\\(\\s*(['"\`])${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\1`);
    const file = files.find(({ text }) => declared.test(text));
    if (file === undefined) throw new Error(`seed ${number}: no file declares the part '${name}'`);
    return linked.replaceAll(`\n| ${name} |`, `\n| [${name}](../test/seeds/${file.path}) |`);
  }, table);
}

/** Escapes cells. Outside code, `<` would begin a tag. */
const escapeCell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .split('`')
    .map((piece, index) => (index % 2 === 0 ? piece.replaceAll('<', '&lt;') : piece))
    .join('`');
