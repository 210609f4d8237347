/** Runs `stopgate init claude` in a project. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../support/command.ts';
import { makeFolder } from '../support/deployment.ts';
import { closedPort } from '../support/port.ts';

type Hooks = Record<string, { hooks: Record<string, unknown>[] }[]>;

/** Returns the hooks that `.claude/settings.json` has afterwards. */
export async function initClaude(...flags: readonly string[]): Promise<Hooks> {
  const folder = await makeFolder();
  try {
    // Otherwise it would ask a service on the default port of this machine.
    const http = await closedPort();
    const args = ['init', 'claude', '--yes', '--http', http, ...flags];
    const { code, stderr } = await runCommand(args, { cwd: folder.path });
    if (code !== 0) throw new Error(`init ended with ${code}: ${stderr}`);
    return JSON.parse(await readFile(join(folder.path, '.claude/settings.json'), 'utf8')).hooks;
  } finally {
    await folder.remove();
  }
}
