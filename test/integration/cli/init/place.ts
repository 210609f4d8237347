/** Gives a test its own folder and home to run `stopgate init` in. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { openTerminal, runOnce, type TerminalOptions } from '../../../support/terminal.ts';

export async function place(options: TerminalOptions = {}) {
  const terminal = await openTerminal(options);
  // Nothing listens there. On the default port, a service of this machine's user would judge the new hooks.
  const env = { PATH: '/nowhere', HOME: join(terminal.cwd, 'home'), STOPGATE_HTTP: '127.0.0.1:9', ...options.env };
  const put = async (name: string, text: string) => {
    const file = join(terminal.cwd, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  };
  await put('stopgate.yaml', 'policies: {}\n');
  return {
    cwd: terminal.cwd,
    put,
    read: (name: string) => readFile(join(terminal.cwd, name), 'utf8'),
    init: (...argv: string[]) => runOnce(['init', ...argv], { ...options, cwd: terminal.cwd, env }),
  };
}

export type Settings = { hooks: Record<string, { hooks: Record<string, unknown>[] }[]> };
export const isPosting = (agent: string) => agent === 'claude' || agent === 'qwen';
export const isGone = (file: Promise<string>) => expect(file).rejects.toThrow('ENOENT');
