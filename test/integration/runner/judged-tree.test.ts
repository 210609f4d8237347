/** The tree that a passed check is about, as `metadata.git` (docs/protocol.md §8). */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRepository, createSubmodule } from './repository.ts';
import { createWorkspace, sh } from './workspace.ts';

const commands = {
  ok: sh('true', { timeoutMs: 120_000 }),
  bad: sh('false'),
  edits: sh('echo more >> kept.txt'),
  commits: sh('git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m more'),
  claims: {
    ...sh(`echo '{"action":"complete","metadata":{"git":{"tree":"mine"},"seen":1}}'`),
    speaks: 'json' as const,
  },
};

async function open() {
  const repository = await createRepository({ files: { 'kept.txt': 'kept\n', '.hidden/x': '1\n' }, commands });
  const name = async (what: string) => (await repository.git('rev-parse', what)).stdout.trim();
  const head = { commit: await name('HEAD'), tree: await name('HEAD^{tree}') };
  const treeOf = async (command: string) => (await repository.command(command)).metadata?.git;
  return { ...repository, head, treeOf };
}

test('a pass in a clean repository names commit and tree; a failure, and a pass outside git, name none', async () => {
  const { treeOf, head, ask, command } = await open();
  expect(await treeOf('ok')).toEqual(head);
  expect((await ask({ clean: true })).metadata).toEqual({ git: head });
  expect(await command('bad')).not.toHaveProperty('metadata');
  const outside = await createWorkspace(commands);
  expect(await outside.command('ok')).not.toHaveProperty('metadata');
});

describe('a tree is unknown if', () => {
  test('the work tree differs from its commit before the check', async () => {
    const { write, treeOf } = await open();
    await write('new.txt', 'new');
    expect(await treeOf('ok')).toEqual({ unknown: 'Uncommitted changes: new.txt' });
  });

  test('the check changed a file, or the commit', async () => {
    const { treeOf } = await open();
    expect(await treeOf('edits')).toEqual({ unknown: 'Uncommitted changes: kept.txt' });
    const other = await open();
    expect(await other.treeOf('commits')).toEqual({ unknown: 'the commit changed while the check ran' });
  });

  test('an index hides a change', async () => {
    const { git, write, treeOf } = await open();
    await git('update-index', '--assume-unchanged', 'kept.txt');
    await write('kept.txt', 'forged\n');
    expect(await treeOf('ok')).toEqual({ unknown: 'Uncommitted changes: kept.txt' });
  });

  test('a submodule has changes', async () => {
    const repository = await open();
    await createSubmodule(repository);
    await repository.write('sub/inner.txt', 'changed\n');
    expect(await repository.treeOf('ok')).toEqual({ unknown: 'Uncommitted changes: sub' });
  });

  test('there is no commit', async () => {
    const { command, cwd } = await createRepository({ commit: false, files: {}, commands });
    expect((await command('ok')).metadata).toEqual({ git: { unknown: 'there is no commit yet' } });
    await rm(join(cwd, '.git', 'HEAD'));
    expect((await command('ok')).metadata?.git).toMatchObject({ unknown: expect.stringContaining('not a git') });
  });
});

test("a command's own word on the tree does not count", async () => {
  const { command, head, write } = await open();
  expect((await command('claims')).metadata).toEqual({ seen: 1, git: head });
  await write('new.txt', 'new');
  expect((await command('claims')).metadata).toEqual({ seen: 1, git: { unknown: 'Uncommitted changes: new.txt' } });
});
