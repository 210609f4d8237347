/**
 * The machines hold no state outside the fleet: equal logs give equal fleets, in whatever order and process they are
 * folded, and nothing grows with what agents send.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../machines/', import.meta.url);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/**
 * Declarations at the top of a file that can change: `let`, and collections. One whose type is `Readonly…` or `readonly
 * …` cannot, and does not compile where it is changed.
 */
function mutableAtTop(source: string): string[] {
  const statements = source.match(/^(?:export )?(?:let|var|const)\b[^;]*?(?:;|\{$|\($|\[$)/gm) ?? [];
  return statements.filter((statement) => {
    if (/^(?:export )?(?:let|var)\b/.test(statement)) return true;
    const [, type = '', value = ''] =
      /^(?:export )?const \w+\s*(?::\s*([^=]*(?:=>[^=]*)*))?=\s*([\s\S]*)$/.exec(statement) ?? [];
    if (/^\s*(?:Readonly\w*\b|readonly\b)/.test(type)) return false;
    return /^new (?:Weak)?(?:Map|Set)\b|^new \w*Array\b|^\[\];?$/.test(value) || /\[\]\s*$/.test(type);
  });
}

test('no file of the machines has state at its top', () => {
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((name) =>
    mutableAtTop(readFileSync(new URL(name, folder), 'utf8')).map((it) => `${name}: ${it}`),
  );
  expect(found).toEqual([]);
});

test.each([
  'let last = 0;',
  'export let memo: Memo | null = null;',
  'const known = new Map<string, Address>();',
  'const known = new Set([',
  'const read = new WeakMap<object, Policy>();',
  'const bytes = new Uint8Array(16);',
  'const seen: string[] = [];',
])('%s is state', (line) => {
  expect(mutableAtTop(`${line}\n`)).toHaveLength(1);
});

test.each([
  'const none: ReadonlySet<string> = new Set();',
  'const names: readonly string[] = [];',
  'export const empty: readonly never[] = Object.freeze([]);',
  'const count = 3;',
  '  const inner = new Map();',
])('%s is none', (line) => {
  expect(mutableAtTop(`${line}\n`)).toEqual([]);
});
