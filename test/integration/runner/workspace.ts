/** A temporary folder and a runner for it. Cleanup verifies that no process is left. */
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { CommandConfig } from '../../../src/config/file.ts';
import { createLogger } from '../../../src/log.ts';
import type { TimedReply } from '../../../src/runner/reply.ts';
import { createRunner, type Runner, type RunnerOptions } from '../../../src/runner/runner.ts';

export type Workspace = {
  /** Real path of the root; the worker's folder is `<root>/work`. */
  readonly root: string;
  readonly cwd: string;
  readonly runner: Runner;
  write(name: string, text: string): Promise<string>;
  /** Waits until the file has content. */
  read(name: string): Promise<string>;
  command(
    name: string,
    more?: { cwd?: string | null; timeoutMs?: number | null; signal?: AbortSignal; env?: { task: string } },
  ): Promise<TimedReply>;
  files(
    files: readonly string[],
    more?: { cwd?: string | null; timeoutMs?: number | null; signal?: AbortSignal },
  ): Promise<TimedReply>;
};

/** A command that runs `source` as a Node program. */
export const node = (source: string, more: Partial<CommandConfig> = {}): CommandConfig => ({
  run: [process.execPath, '-e', source],
  cwd: 'worker',
  timeoutMs: 20_000,
  feedback: 'tail',
  ...more,
});
export const sh = (source: string, more: Partial<CommandConfig> = {}): CommandConfig => ({
  ...node('', more),
  run: ['sh', '-c', source],
});

const asking = { fleet: 'main', worker: 'w1', task: 't1', attempt: 'a1' };

export async function createWorkspace(
  commands: Record<string, CommandConfig> = {},
  options: Partial<RunnerOptions> = {},
): Promise<Workspace> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-runner-')));
  const cwd = join(root, 'work');
  await mkdir(cwd);
  const log = createLogger('silent');
  const runner = createRunner({ roots: ['.'], baseDir: root, commands, env: {}, log, ...options });
  onTestFinished(async () => {
    await runner.close();
    const left = await processesIn(root);
    for (const pid of left) process.kill(Number(pid), 'SIGKILL'); // a failed test must not make others fail
    await rm(root, { recursive: true });
    expect(left).toEqual([]);
  });
  return {
    root,
    cwd,
    runner,
    async write(name, text) {
      await writeFile(join(cwd, name), text);
      return join(cwd, name);
    },
    async read(name) {
      const text = () => readFile(join(cwd, name), 'utf8').catch(() => '');
      await expect.poll(text).not.toBe('');
      return text();
    },
    command(name, { signal = new AbortController().signal, ...more } = {}) {
      return runner.run({ kind: 'command', name, cwd, timeoutMs: null, env: asking, ...more }, signal);
    },
    files(files, { signal = new AbortController().signal, ...more } = {}) {
      return runner.run({ kind: 'files', files, cwd, timeoutMs: null, ...more }, signal);
    },
  };
}

/** Pids of processes whose working directory is in `folder`, without zombies. Always empty outside Linux. */
async function processesIn(folder: string): Promise<string[]> {
  const pids = await readdir('/proc').catch(() => []);
  const folders = await Promise.all(pids.map(async (pid) => [pid, await readlink(`/proc/${pid}/cwd`).catch(() => '')]));
  return folders.filter(([, cwd]) => cwd?.startsWith(folder)).map(([pid]) => pid ?? '');
}

/** A zombie does not count as running. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  return !/\) [ZX] /.test(stat);
}
