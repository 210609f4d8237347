/**
 * An agent controls its repository, and the git configuration can name programs. Each attack is first shown to work:
 * plain git runs the program. The check must not run it, and must still see the change.
 */
import { access, appendFile, chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRepository, createSubmodule, type Git } from '../../integration/runner/repository.ts';

type Stage = Awaited<ReturnType<typeof createRepository>> & { readonly evil: string; isRun(): Promise<boolean> };

/** `evil` is a program that leaves a mark and copies its input to its output. As a transport, it fails. */
async function createStage(): Promise<Stage> {
  const repository = await createRepository({ pushed: true });
  const mark = join(repository.root, 'mark');
  const evil = join(repository.root, 'evil.sh');
  await writeFile(evil, `#!/bin/sh\ntouch '${mark}'\ncase "$*" in *.git*) exit 1;; esac\ncat\n`);
  await chmod(evil, 0o755);
  const isRun = async () => {
    const ran = await access(mark).then(
      () => true,
      () => false,
    );
    await rm(mark, { force: true });
    return ran;
  };
  return { ...repository, evil, isRun };
}

/** Sets file times that differ from the index, so that git must compare the contents. */
const touch = (path: string) => utimes(path, 1, 1);
const ignoreFailure = (work: Promise<unknown>) => work.catch(() => undefined);

type Attack = {
  readonly why: string;
  prepare(stage: Stage): Promise<unknown>;
  /** The git command that runs the program. Default: status. */
  provoke?(git: Git): Promise<unknown>;
  readonly changed?: string;
};

const attacks: Attack[] = [
  ...['clean', 'process'].map((kind) => ({
    why: `filter.*.${kind}`,
    async prepare({ cwd, git, evil }: Stage) {
      await writeFile(join(cwd, '.gitattributes'), '*.txt filter=evil\n');
      await git('add', '.');
      await git('commit', '-qm', 'attributes');
      await git('config', `filter.evil.${kind}`, evil);
      await git('config', 'filter.evil.required', 'true');
      await touch(join(cwd, 'kept.txt'));
    },
  })),
  {
    why: "a submodule's filter",
    async prepare(stage) {
      const inside = await createSubmodule(stage);
      await inside('config', 'filter.evil.clean', stage.evil);
      await writeFile(join(stage.cwd, '.git', 'modules', 'sub', 'info', 'attributes'), '* filter=evil\n');
      await touch(join(stage.cwd, 'sub', 'inner.txt'));
    },
  },
  {
    why: 'a filter in a file that the configuration includes',
    async prepare({ cwd, root, git, evil }) {
      await writeFile(join(root, 'more'), `[filter "evil"]\n\tclean = ${evil}\n`);
      await git('config', 'include.path', join(root, 'more'));
      await writeFile(join(cwd, '.git', 'info', 'attributes'), '* filter=evil\n');
      await touch(join(cwd, 'kept.txt'));
    },
  },
  {
    why: 'core.fsmonitor',
    prepare: ({ git, evil }) => git('config', 'core.fsmonitor', evil),
  },
  {
    why: 'a hook',
    async prepare({ cwd, git, evil }) {
      await git('config', 'core.hooksPath', join(cwd, '.git', 'hooks'));
      await writeFile(join(cwd, '.git', 'hooks', 'post-index-change'), `#!/bin/sh\nexec ${evil}\n`, { mode: 0o755 });
      await touch(join(cwd, 'kept.txt'));
    },
  },
  {
    why: "a promisor's upload-pack",
    async prepare({ cwd, git, evil }) {
      await git('config', 'core.repositoryformatversion', '1');
      await git('config', 'extensions.partialClone', 'origin');
      await git('config', 'remote.origin.promisor', 'true');
      await git('config', 'remote.origin.uploadpack', evil);
      // A missing tree, which git would fetch from the promisor.
      const { stdout } = await git('rev-parse', 'HEAD^{tree}');
      const tree = stdout.trim();
      await chmod(join(cwd, '.git', 'objects', tree.slice(0, 2)), 0o755);
      await rm(join(cwd, '.git', 'objects', tree.slice(0, 2), tree.slice(2)), { force: true });
    },
    changed: 'nobody can tell',
  },
  {
    why: 'core.sshCommand, for a promisor over ssh',
    async prepare(stage) {
      await attacks.find(({ why }) => why.startsWith('a promisor'))?.prepare(stage);
      await stage.git('config', 'remote.origin.url', 'git@example.invalid:x.git');
      await stage.git('config', 'core.sshCommand', stage.evil);
    },
    changed: 'nobody can tell',
  },
  {
    why: 'diff.external and textconv',
    async prepare({ cwd, git, evil }) {
      await git('config', 'diff.external', evil);
      await git('config', 'diff.evil.textconv', evil);
      await writeFile(join(cwd, '.git', 'info', 'attributes'), '* diff=evil\n');
      await appendFile(join(cwd, 'kept.txt'), 'more\n');
    },
    provoke: (git) => git('diff', '--ext-diff'),
  },
  {
    why: 'gpg.program and core.pager',
    async prepare({ git, evil }) {
      await git('config', 'gpg.program', evil);
      await git('config', 'log.showSignature', 'true');
      await git('config', 'core.pager', evil);
      await git('config', 'pager.status', 'true');
      const { stdout } = await git('cat-file', 'commit', 'HEAD');
      const signed = stdout.replace('\n\n', '\ngpgsig -----BEGIN PGP SIGNATURE-----\n -----END PGP SIGNATURE-----\n\n');
      const file = join((await git('rev-parse', '--absolute-git-dir')).stdout.trim(), 'signed');
      await writeFile(file, signed);
      const commit = (await git('hash-object', '-t', 'commit', '-w', file)).stdout.trim();
      await git('update-ref', 'HEAD', commit);
    },
    provoke: (git) => git('log', '-1'),
  },
];

describe('the check runs nothing that the repository names', () => {
  test.each(attacks)('$why', async ({ prepare, provoke = (git) => git('status'), changed }) => {
    const stage = await createStage();
    await prepare(stage);
    await ignoreFailure(provoke(stage.git));
    expect(await stage.isRun()).toBe(true);
    await prepareAgain(stage);
    if (changed === undefined) await writeFile(join(stage.cwd, 'new.txt'), '');
    const found = await stage.ask({ clean: true, pushed: true });
    expect(await stage.isRun()).toBe(false);
    if (changed !== undefined) expect(found.outcome).toBe('error');
    else expect(found).toMatchObject({ outcome: 'fail', reason: expect.stringContaining('new.txt') });
  });

  /** Plain git may have written new file times to the index. */
  const prepareAgain = ({ cwd }: Stage) => touch(join(cwd, 'kept.txt'));

  test('a git in a folder of the repository that is first in PATH', async () => {
    const { ask, cwd, root, env } = await createRepository();
    const tools = join(cwd, 'node_modules', '.bin');
    const mark = join(root, 'mark');
    await mkdir(tools, { recursive: true });
    await writeFile(join(tools, 'git'), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    env.PATH = `${tools}:node_modules/.bin:${env.PATH}`;
    expect(await ask({ clean: true })).toMatchObject({ outcome: 'fail', reason: 'Uncommitted changes: node_modules/' });
    await expect(access(mark)).rejects.toThrow('ENOENT');
  });
});

test("git gets none of the service's variables except PATH and the home of its user", async () => {
  const { ask, root, env } = await createRepository();
  // The operator's git, outside the roots, prints its environment.
  const tools = await mkdtemp(join(tmpdir(), 'stopgate-tools-'));
  onTestFinished(() => rm(tools, { recursive: true }));
  const seen = join(root, 'seen');
  await writeFile(join(tools, 'git'), `#!/bin/sh\nenv >> '${seen}'\nPATH='${env.PATH}' exec git "$@"\n`, {
    mode: 0o755,
  });
  Object.assign(env, {
    PATH: `${tools}:${env.PATH}`,
    DEPLOY_KEY: 'secret-1',
    STOPGATE_TOKEN: 'secret-2',
    GIT_DIR: '/',
  });
  expect(await ask({ clean: true, pushed: true })).toMatchObject({ outcome: 'fail' });
  const variables = await readFile(seen, 'utf8');
  expect(variables).toContain('HOME=/nonexistent');
  expect(variables).not.toMatch(/secret|GIT_DIR=\/\n/);
});

describe("it stays in the worker's repository", () => {
  const outside = async () => {
    const other = await createRepository();
    await writeFile(join(other.cwd, 'secret-name.txt'), '');
    return other;
  };

  test('core.worktree selects no other folder', async () => {
    const { cwd } = await outside();
    const { ask, git } = await createRepository();
    await git('config', 'core.worktree', cwd);
    const found = await ask({ clean: true });
    expect(found).toMatchObject({ outcome: 'error', reason: expect.stringContaining('core.worktree') });
  });

  test.each(['a file', 'a symlink'])('.git as %s selects no repository outside the roots', async (form) => {
    const { cwd } = await outside();
    const { ask, root } = await createRepository();
    const folder = join(root, 'planted');
    await mkdir(folder);
    const link = join(folder, '.git');
    await (form === 'a file' ? writeFile(link, `gitdir: ${cwd}/.git\n`) : symlink(join(cwd, '.git'), link));
    const found = await ask({ clean: true }, { cwd: folder });
    expect(found).toMatchObject({ outcome: 'error', reason: expect.stringContaining("outside the runner's roots") });
  });

  test('an index that is a symlink to another repository reveals none of its files', async () => {
    const other = await outside();
    await other.git('add', '.');
    const { ask, cwd } = await createRepository();
    await rm(join(cwd, '.git', 'index'));
    await symlink(join(other.cwd, '.git', 'index'), join(cwd, '.git', 'index'));
    expect(JSON.stringify(await ask({ clean: true }))).not.toContain('secret-name');
  });
});
