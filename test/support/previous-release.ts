/** The release before this one, built from git: what a rolling upgrade begins with. */
import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './markdown.ts';

export type PreviousRelease = {
  readonly commit: string;
  /** What node runs. */
  readonly main: string;
  remove(): Promise<void>;
};

const run = promisify(execFile);
/** Null: git does not know. */
const git = async (...args: readonly string[]): Promise<string | null> =>
  run('git', ['-C', root, ...args]).then(
    ({ stdout }) => stdout.trim() || null,
    () => null,
  );

/** The newest tag before this commit. Before the first release: where today's rules were complete. Null: no history. */
export async function findPreviousRelease(): Promise<string | null> {
  const tag = await git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^');
  if (tag !== null) return git('rev-parse', '--verify', `${tag}^{commit}`);
  const added = await git('log', '--diff-filter=A', '--format=%H', '--', 'machines/fleet/state-size.ts');
  return added && git('rev-parse', '--verify', '--quiet', added.split('\n').at(-1) as string);
}

/** With the packages of today, and unchecked: its own CI has done that. @throws Error with what the compiler says */
export async function buildRelease(commit: string): Promise<PreviousRelease> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-previous-')));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    const archive = join(folder, 'source.tar');
    await run('git', [
      '-C',
      root,
      'archive',
      '-o',
      archive,
      commit,
      'package.json',
      'tsconfig.json',
      'machines',
      'src',
    ]);
    await run('tar', ['-xf', archive, '-C', folder]);
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const compiler = join(root, 'node_modules', '.bin', 'tsc');
    await run(compiler, ['-b', '--noCheck', 'machines', 'src'], { cwd: folder }).catch((cause: { stdout?: string }) => {
      throw new Error(`commit ${commit} does not build: ${cause.stdout}`, { cause });
    });
    return { commit, main: join(folder, 'dist', 'src', 'main.js'), remove };
  } catch (cause) {
    await remove();
    throw cause;
  }
}
