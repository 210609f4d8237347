/**
 * Our blocks at the end of Codex's config.toml, between comments that mark them: the trust in our hooks, and where it
 * sends what it uses. Seen with 0.169.0.
 */
import { dirname, join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { SyntaxProblem } from '../setup/json-edit.ts';
import type { Line } from '../setup/line.ts';
import { type Places, rootOf } from '../setup/places.ts';
import { type Change, openSettings, planEdit, readText, type SettingsFile } from '../setup/settings-file.ts';
import type { Wish } from '../setup/setup.ts';
import { receiverFor, type UsageSetup } from '../setup/usage.ts';

type Block = 'trust' | 'usage';
const begins: Readonly<Record<Block, string>> = {
  trust: '# >>> stopgate: its hooks are trusted (by "stopgate init codex") >>>',
  usage: '# >>> stopgate: what Codex uses is counted (by "stopgate init codex --usage") >>>',
};
const end = '# <<< stopgate <<<';

/** Puts a block at the end. The text must have none of its kind. */
export function putBlock(bare: string, block: Block, lines: string): string {
  const marked = `${begins[block]}\n${lines}${end}`;
  // A file that does not end with a line end gets none. That is how `takeBlock` can restore it.
  return bare === '' || bare.endsWith('\n') ? `${bare}${marked}\n` : `${bare}\n${marked}`;
}

/** Returns null if nothing is left. @throws SyntaxProblem */
export function takeBlock(text: string, block: Block): string | null {
  parseConfig(text);
  const from = text.indexOf(begins[block]);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) return text;
  const after = text.slice(to + end.length);
  const before = text.slice(0, from);
  const left = after === '' ? before.replace(/\n$/, '') : before + after.replace(/^\n/, '');
  return left === '' ? null : left;
}

/** @throws SyntaxProblem */
export function parseConfig(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const lines = text.split('\n').slice(0, error.line - 1);
    throw new SyntaxProblem(error.message.split('\n')[0] ?? '', lines.join('\n').length + error.column);
  }
}

/** `hooks`: the file beside it. */
export function openConfig(hooks: SettingsFile, places: Places): SettingsFile {
  const path = join(dirname(hooks.path), 'config.toml');
  return openSettings(path, rootOf(path, 'user', places));
}

/** Plans what `init` writes there before Codex is asked about its hooks, and all that `--remove` takes out again. */
export function planConfig({ places, line, usage, remove }: Wish, hooks: SettingsFile): Change | null {
  const config = openConfig(hooks, places);
  if (remove) {
    const take = (text: string | null, block: Block) => (text === null ? null : takeBlock(text, block));
    return config.text === null ? null : planEdit(config, (text) => take(take(text, 'trust'), 'usage'));
  }
  // What it sends follows the hooks to another address.
  const isSet = config.text?.includes(begins.usage) ?? false;
  return usage || isSet ? planEdit(config, (text) => putUsage(text ?? '', line)) : null;
}

const otelSchema = z.object({
  otel: z.object({ exporter: z.object({ 'otlp-http': z.object({ endpoint: z.string() }) }) }),
});

const endpointIn = (config: unknown): string | null =>
  otelSchema.safeParse(config).data?.otel.exporter['otlp-http'].endpoint ?? null;

/** Prompts stay out of it, by its own default. */
function putUsage(text: string, line: Line): string {
  const endpoint = receiverFor(line, '/v1/logs');
  // It stands there, whoever has put it.
  if (endpointIn(parseConfig(text)) === endpoint) return text;
  const bare = takeBlock(text, 'usage') ?? '';
  if (Object.hasOwn(parseConfig(bare) as object, 'otel'))
    throw new SyntaxProblem(
      '[otel] is set already, to something else: change it there',
      Math.max(0, bare.indexOf('otel')),
    );
  const exporter = `{ otlp-http = { endpoint = ${JSON.stringify(endpoint)}, protocol = "json" } }`;
  return putBlock(bare, 'usage', `[otel]\nexporter = ${exporter}\n`);
}

export const createCodexUsage = (folder: (places: Places) => string): UsageSetup => ({
  scopes: ['user'],
  settings: null,
  environment: null,
  target(places) {
    try {
      return endpointIn(parseConfig(readText(join(folder(places), 'config.toml')) ?? ''));
    } catch {
      return null; // it is reported by what reads the trust in it
    }
  },
  inDollars: false,
});
