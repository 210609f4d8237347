/** Hooks as tables `[[hooks]]` in TOML: adds ours at the end of the text, finds them and removes them. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { parse, TomlError } from 'smol-toml';
import type { FoundHook, HookFormat, HookSettings } from './hook-settings.ts';
import { SyntaxProblem } from './json-edit.ts';

export const tomlHooks: HookFormat = { put, remove, read };

/** @throws SyntaxProblem */
function put(text: string | null, settings: HookSettings): string {
  const ours = settings.events.map(([, handler]) => handler as FoundHook['value']);
  const found = text === null ? [] : read(text).map(({ value }) => value);
  if (text !== null && isDeepStrictEqual(found.filter(settings.isOurs), ours)) return text;
  const bare = (text === null ? null : remove(text, settings)) ?? '';
  const tables = ours.map(toTable).join('\n');
  // If the file has no line end at its end, add none after ours either, so that `remove` can restore it.
  const edited = bare === '' || bare.endsWith('\n') ? `${bare}${tables}\n` : `${bare}\n${tables}`;
  const others = found.filter((hook) => !settings.isOurs(hook));
  if (!isDeepStrictEqual(readOrNull(edited), [...others, ...ours]))
    throw new SyntaxProblem('"hooks" is not a list of tables [[hooks]]; add the hooks yourself', hooksOffset(bare));
  return edited;
}

/** Returns null if nothing is left. @throws SyntaxProblem */
function remove(text: string, { isOurs }: HookSettings): string | null {
  const before = parseTables(text);
  const kept: string[] = [];
  const lines = text.split('\n');
  for (let index = 0; index < lines.length; ) {
    const end = tableEnd(lines, index);
    const isTable = end > index && isOurTable(lines.slice(index, end), isOurs);
    if (!isTable) kept.push(lines[index] as string);
    index = isTable ? end : index + 1;
  }
  const left = kept.join('\n');
  const { hooks = [], ...others } = before as { hooks?: unknown[] };
  const expected = hooks.filter((hook) => !isOurs(hook as FoundHook['value']));
  const { hooks: leftHooks = [], ...leftOthers } = parseTables(left) as { hooks?: unknown[] };
  if (!isDeepStrictEqual([leftHooks, leftOthers], [expected, others]))
    throw new SyntaxProblem('our hooks are in a form that cannot be removed; remove them yourself', hooksOffset(text));
  return left === '' ? null : left;
}

/** @throws SyntaxProblem */
function read(text: string): FoundHook[] {
  const { hooks } = parseTables(text);
  if (hooks === undefined) return [];
  if (!Array.isArray(hooks)) throw new SyntaxProblem('"hooks" is not a list of tables [[hooks]]', hooksOffset(text));
  return hooks.flatMap((hook) =>
    typeof hook === 'object' && hook !== null && !Array.isArray(hook)
      ? [{ event: String((hook as Record<string, unknown>).event), value: { ...hook } as FoundHook['value'] }]
      : [],
  );
}

const toTable = (hook: FoundHook['value']): string =>
  ['[[hooks]]', ...Object.entries(hook).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join('\n');

const readOrNull = (text: string): readonly unknown[] | null => {
  try {
    return read(text).map(({ value }) => value);
  } catch {
    return null;
  }
};

const header = /^\s*\[\[\s*hooks\s*\]\]\s*$/;
const keyLine = /^\s*\w+\s*=/;

/** Returns the index after the table that starts at this line, or `start` if no table does. */
function tableEnd(lines: readonly string[], start: number): number {
  if (!header.test(lines[start] ?? '')) return start;
  let end = start + 1;
  while (end < lines.length && keyLine.test(lines[end] ?? '')) end += 1;
  return end;
}

function isOurTable(lines: readonly string[], isOurs: HookSettings['isOurs']): boolean {
  const [hook] = readOrNull(lines.join('\n')) ?? [];
  return hook !== undefined && isOurs(hook as FoundHook['value']);
}

/** Accepts a byte order mark. Returns plain objects, because those of the parser have no prototype. */
const parseTables = (text: string): Readonly<Record<string, unknown>> =>
  structuredClone({ ...parseToml(text.replace(/^\uFEFF/, '')) });

/** @throws SyntaxProblem */
export function parseToml(text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const lines = text.split('\n').slice(0, error.line - 1);
    throw new SyntaxProblem(error.message.split('\n')[0] ?? '', lines.join('\n').length + error.column);
  }
}

const hooksOffset = (text: string): number => Math.max(0, text.indexOf('hooks'));
