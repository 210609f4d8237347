/** `stopgate init claude`, as a person runs it in a project. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/cli.ts';
import { type Folder, makeFolder } from '../support/deployment.ts';

type Hooks = Record<string, { hooks: Record<string, unknown>[] }[]>;

/** Gives the hooks that `.claude/settings.json` has after it. */
export async function initClaude(...flags: readonly string[]): Promise<Hooks> {
  const folder: Folder = await makeFolder();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const streams = { stdout, stderr, stdin: new PassThrough(), isTTY: false };
  const terminal = { size: () => ({ columns: 80, rows: 24 }), interrupt: () => new AbortController().signal };
  const io = { ...streams, ...terminal, env: { HOME: folder.path }, cwd: folder.path };
  try {
    const code = await runCli(['init', 'claude', '--yes', ...flags], io, {} as never);
    if (code !== 0) throw new Error(`init ended with ${code}: ${stderr.read()}`);
    return JSON.parse(await readFile(join(folder.path, '.claude/settings.json'), 'utf8')).hooks;
  } finally {
    await folder.remove();
  }
}
