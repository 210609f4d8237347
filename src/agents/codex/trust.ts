/**
 * Codex silently skips every hook that its user has not trusted. Trust is a hash in its config.toml. Codex itself
 * reports the hash when it lists its hooks (`codex app-server`). Seen with 0.169.0.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
import { SyntaxProblem } from '../setup/json-edit.ts';
import { isOurs } from '../setup/line.ts';
import { findProgram } from '../setup/places.ts';
import { planEdit, writeSettings } from '../setup/settings-file.ts';
import type { Granted, Trust } from '../setup/setup.ts';
import { openConfig, parseConfig, putBlock, takeBlock } from './config.ts';

const hookSchema = z.object({
  key: z.string(),
  currentHash: z.string(),
  trustStatus: z.string().optional().catch(undefined),
  sourcePath: z.string(),
  command: z.string().nullish().catch(undefined),
});
export type CodexHook = z.infer<typeof hookSchema>;
const answerSchema = z.object({
  id: z.literal(2),
  result: z.object({ data: z.array(z.object({ hooks: z.array(hookSchema) })) }),
});

const answerTimeoutMs = 20_000;

/** Resolves to null if Codex cannot be started, or does not know the request. */
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

/** Puts our block at the end of config.toml, in place of an older block of ours. @throws SyntaxProblem */
export function putTrust(text: string | null, hooks: readonly CodexHook[]): string {
  const bare = text === null ? '' : (takeBlock(text, 'trust') ?? '');
  const known = trustIn(bare);
  const lines = hooks
    .filter(({ key, currentHash }) => known.get(key) !== currentHash)
    .map(({ key, currentHash }) => {
      // A duplicate table is an error, and this one is the user's.
      if (known.has(key))
        throw new SyntaxProblem(`hooks.state."${key}" is there with another hash: trust it in Codex, by /hooks`, 0);
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
    .safeParse(parseConfig(text));
  return new Map(Object.entries(state.data?.hooks.state ?? {}).map(([key, value]) => [key, value.trusted_hash]));
}

/** Makes Codex trust the hooks that `init` writes, in its config.toml. */
export const trust: Trust = {
  describe: ({ env }) =>
    findProgram('codex', env) === null
      ? null
      : 'After that, these hooks are also trusted in the config.toml of Codex (see "codex app-server", hooks/list).',
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

const refused = (why: string): Granted => ({
  state: 'no',
  note: `${why}, so Codex does not trust these hooks yet, and silently skips them: accept them in Codex, by /hooks`,
});
