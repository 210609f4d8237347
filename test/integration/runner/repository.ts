/** A real git repository in a worker's folder, and a runner for it. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { CommandConfig, GitConfig } from '../../../src/config/file.ts';
import { createWorkspace } from './workspace.ts';

const exec = promisify(execFile);
const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
/** Git 2.38.1 and later refuse to clone submodules from a folder without this. */
const fromFolders = ['-c', 'protocol.file.allow=always'];
const env = { PATH: readEnvironment().PATH ?? '', HOME: '/nonexistent' };
export type Git = (...args: string[]) => Promise<{ stdout: string }>;

const gitIn =
  (cwd: string): Git =>
  (...args) => {
    const run = exec('git', [...identity, ...fromFolders, ...args], { cwd, env: { ...env, GIT_CONFIG_NOSYSTEM: '1' } });
    run.child.stdin?.end();
    return run;
  };

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

type RepositoryOptions = {
  /** Contents of the work tree by file name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether to commit the files. Default: true. */
  readonly commit?: boolean;
  /** Whether to push to a bare repository next to the work tree. Default: false. */
  readonly pushed?: boolean;
  /** The runner's commands. */
  readonly commands?: Readonly<Record<string, CommandConfig>>;
  /** What counts as uncommitted work for the runner. */
  readonly git?: GitConfig;
};

/**
 * Repositories to copy, by options: copying takes a tenth of the time of git. Each has `work` and maybe `remote.git`.
 */
const templates = new Map<string, Promise<string>>();

type Template = Required<Omit<RepositoryOptions, 'commands' | 'git'>>;

function templateOf(options: Template): Promise<string> {
  const key = JSON.stringify(options);
  const template = templates.get(key) ?? makeTemplate(options);
  templates.set(key, template);
  return template;
}

async function makeTemplate({ files, commit, pushed }: Template): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'stopgate-repository-'));
  process.once('exit', () => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, 'work');
  const git = gitIn(cwd);
  await mkdir(cwd);
  // No template, because its sample hooks would be copied for each test.
  await git('init', '-q', '--template=');
  await mkdir(join(cwd, '.git', 'info'));
  await mkdir(join(cwd, '.git', 'hooks'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(cwd, dirname(name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  if (commit) {
    await git('add', '.');
    await git('commit', '-qm', 'first');
  }
  if (pushed) {
    await git('init', '-q', '--bare', '--template=', '../remote.git');
    await git('remote', 'add', 'origin', '../remote.git');
    await git('push', '-q', '-u', 'origin', 'HEAD');
  }
  return root;
}

/** `env` is the runner's environment, which a test may change. */
export async function createRepository({
  files = { 'kept.txt': 'kept\n' },
  commit = true,
  pushed = false,
  commands = {},
  git: settings,
}: RepositoryOptions = {}) {
  const runnerEnv: Record<string, string> = { ...env };
  const workspace = await createWorkspace(commands, { env: runnerEnv, git: settings });
  const { cwd, root } = workspace;
  const git = gitIn(cwd);
  await cp(await templateOf({ files, commit, pushed }), root, { recursive: true });
  type Aspects = { clean?: boolean; pushed?: boolean; unchanged?: string[]; since?: string };
  const ask = (what: Aspects, more: { cwd?: string | null; timeoutMs?: number } = {}) =>
    workspace.runner.run(
      { kind: 'git', clean: false, pushed: false, unchanged: [], cwd, timeoutMs: null, ...what, ...more },
      new AbortController().signal,
    );
  return { ...workspace, env: runnerEnv, git, gitIn, ask };
}

/** Commits a submodule `sub`. @returns git for the submodule */
export async function createSubmodule({ root, cwd, git }: { root: string; cwd: string; git: Git }): Promise<Git> {
  const origin = join(root, 'sub-origin');
  await git('init', '-q', origin);
  await writeFile(join(origin, 'inner.txt'), 'inner\n');
  await gitIn(origin)('add', '.');
  await gitIn(origin)('commit', '-qm', 'inner');
  await git('submodule', '--quiet', 'add', origin, 'sub');
  await git('commit', '-qm', 'with a submodule');
  return gitIn(join(cwd, 'sub'));
}
