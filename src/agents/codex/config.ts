/**
 * Our blocks at the end of Codex's config.toml, between marking comments: trust in our hooks, and where to report
 * usage. Tested with 0.171.0.
 */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
import { SyntaxProblem } from '../setup/json-edit.ts';
import { isOurs, type Line } from '../setup/line.ts';
import { findProgram, type LocalContext, rootOf } from '../setup/local-context.ts';
import {
  type Change,
  openSettings,
  planEdit,
  readText,
  type SettingsFile,
  writeSettings,
} from '../setup/settings-file.ts';
import type { SetupRequest, Trust, TrustResult } from '../setup/setup.ts';
import { parseToml } from '../setup/toml-hooks.ts';
import { receiverFor, type UsageSetup } from '../setup/usage.ts';

type Block = 'trust' | 'usage';
const blockStarts: Readonly<Record<Block, string>> = {
  trust: '# >>> stopgate: trusted hooks (by "stopgate init codex") >>>',
  usage: '# >>> stopgate: usage reporting (by "stopgate init codex --usage") >>>',
};
const blockEnd = '# <<< stopgate <<<';

/** Appends a block. The text must not contain one of the same kind. */
function putBlock(bare: string, block: Block, lines: string): string {
  const marked = `${blockStarts[block]}\n${lines}${blockEnd}`;
  // If the file has no line end at its end, add none after the block either, so that `removeBlock` can restore it.
  return bare === '' || bare.endsWith('\n') ? `${bare}${marked}\n` : `${bare}\n${marked}`;
}

/** Removes a block. Returns null if nothing is left. @throws SyntaxProblem */
function removeBlock(text: string, block: Block): string | null {
  parseToml(text);
  const from = text.indexOf(blockStarts[block]);
  const to = text.indexOf(blockEnd, from);
  if (from < 0 || to < 0) return text;
  const after = text.slice(to + blockEnd.length);
  const before = text.slice(0, from);
  const left = after === '' ? before.replace(/\n$/, '') : before + after.replace(/^\n/, '');
  return left === '' ? null : left;
}

/** @param hooks the hooks file, in the same folder */
function openConfig(hooks: SettingsFile, places: LocalContext): SettingsFile {
  const path = join(dirname(hooks.path), 'config.toml');
  return openSettings(path, rootOf(path, 'user', places));
}

/** Plans the usage settings, or with `remove` the removal of both blocks. Trust is added later, by `trust.grant`. */
export function planConfig({ places, line, usage, remove }: SetupRequest, hooks: SettingsFile): Change | null {
  const config = openConfig(hooks, places);
  if (remove) {
    const without = (text: string | null, block: Block) => (text === null ? null : removeBlock(text, block));
    return config.text === null ? null : planEdit(config, (text) => without(without(text, 'trust'), 'usage'));
  }
  // If we set up usage reporting before, it follows the hooks to the new address.
  const isSet = config.text?.includes(blockStarts.usage) ?? false;
  return usage || isSet ? planEdit(config, (text) => putUsage(text ?? '', line)) : null;
}

const otelSchema = z.object({
  otel: z.object({ exporter: z.object({ 'otlp-http': z.object({ endpoint: z.string() }) }) }),
});

const endpointIn = (config: unknown): string | null =>
  otelSchema.safeParse(config).data?.otel.exporter['otlp-http'].endpoint ?? null;

/** By Codex's default, prompts are not sent. */
function putUsage(text: string, line: Line): string {
  const endpoint = receiverFor(line, '/v1/logs');
  // Already set, by us or by the user.
  if (endpointIn(parseToml(text)) === endpoint) return text;
  const bare = removeBlock(text, 'usage') ?? '';
  if (Object.hasOwn(parseToml(bare) as object, 'otel'))
    throw new SyntaxProblem(
      '[otel] is already set to a different value; change it there',
      Math.max(0, bare.indexOf('otel')),
    );
  const exporter = `{ otlp-http = { endpoint = ${JSON.stringify(endpoint)}, protocol = "json" } }`;
  return putBlock(bare, 'usage', `[otel]\nexporter = ${exporter}\n`);
}

export const createCodexUsage = (folder: (places: LocalContext) => string): UsageSetup => ({
  scopes: ['user'],
  settings: null,
  environment: null,
  target(places) {
    try {
      return endpointIn(parseToml(readText(join(folder(places), 'config.toml')) ?? ''));
    } catch {
      return null; // the check for trusted hooks reports this file
    }
  },
  inDollars: false,
});

// Codex silently skips hooks that its user has not trusted. Trust is a hash in config.toml, which Codex reports when it
// lists its hooks (`codex app-server`).

const hookSchema = z.object({
  key: z.string(),
  currentHash: z.string(),
  sourcePath: z.string(),
  command: z.string().nullish().catch(undefined),
});
export type CodexHook = z.infer<typeof hookSchema>;
const answerSchema = z.object({
  id: z.literal(2),
  result: z.object({ data: z.array(z.object({ hooks: z.array(hookSchema) })) }),
});

const answerTimeoutMs = 20_000;

/** Resolves to null if Codex cannot be started or does not know the request. */
export async function listCodexHooks(
  binary: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CodexHook[] | null> {
  const child = spawn(binary, ['app-server'], { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => undefined);
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const timer = setTimeout(() => child.kill('SIGKILL'), answerTimeoutMs);
  const gone = new Promise<null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', () => resolve(null));
  });
  const answered = new Promise<CodexHook[]>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const answer = answerSchema.safeParse(tryJson(line));
      if (answer.success) resolve(answer.data.result.data.flatMap(({ hooks }) => hooks));
    });
  });
  send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'stopgate', version: '0' } } });
  send({ method: 'initialized' });
  send({ id: 2, method: 'hooks/list', params: { cwds: [cwd] } });
  try {
    return await Promise.race([answered, gone]);
  } finally {
    clearTimeout(timer);
    child.kill();
  }
}

/** Replaces our block at the end of config.toml. @throws SyntaxProblem */
export function putTrust(text: string | null, hooks: readonly CodexHook[]): string {
  const bare = text === null ? '' : (removeBlock(text, 'trust') ?? '');
  const known = trustIn(bare);
  const lines = hooks
    .filter(({ key, currentHash }) => known.get(key) !== currentHash)
    .map(({ key, currentHash }) => {
      // A duplicate table would be an error, and the existing one is the user's.
      if (known.has(key))
        throw new SyntaxProblem(
          `hooks.state."${key}" already has a different hash; trust the hook in Codex with /hooks`,
          0,
        );
      return `[hooks.state.${JSON.stringify(key)}]\ntrusted_hash = ${JSON.stringify(currentHash)}\n`;
    });
  if (lines.length === 0) return bare;
  return putBlock(bare, 'trust', lines.join(''));
}

/** The trusted hashes by key. @throws SyntaxProblem */
export function trustIn(text: string): Map<string, string> {
  const state = z
    .object({
      hooks: z.object({
        state: z.record(z.string(), z.object({ trusted_hash: z.string() }).loose().catch({ trusted_hash: '' })),
      }),
    })
    .safeParse(parseToml(text));
  return new Map(Object.entries(state.data?.hooks.state ?? {}).map(([key, value]) => [key, value.trusted_hash]));
}

/** Adds trust in the hooks that `init` writes to Codex's config.toml. */
export const trust: Trust = {
  describe: ({ env }) =>
    findProgram('codex', env) === null
      ? null
      : 'These hooks are then also marked as trusted in Codex\'s config.toml (see "codex app-server", hooks/list).',
  async grant({ file }, places) {
    const binary = findProgram('codex', places.env);
    if (binary === null) return refused('codex is not on PATH');
    const hooks = await listCodexHooks(binary, places.cwd, places.env);
    const ours = (hooks ?? []).filter(
      ({ sourcePath, command }) =>
        [file.path, file.target].includes(sourcePath) && isOurs('codex', { command: command ?? '' }),
    );
    if (ours.length === 0) return refused('codex did not list its hooks');
    const config = openConfig(file, places);
    const { after } = planEdit(config, (text) => putTrust(text, ours));
    if (after === config.text) return { state: 'yes', note: null };
    writeSettings(config, after);
    return { state: 'written', note: `trusted in ${config.path}` };
  },
};

const refused = (why: string): TrustResult => ({
  state: 'no',
  note: `${why}, so Codex does not trust these hooks yet and silently skips them: accept them in Codex with /hooks`,
});
