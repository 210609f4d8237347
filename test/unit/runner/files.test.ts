/** The `files` check: whether files exist inside the worker's folder (seed 002, FileExistsChecker). */
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createWorkspace } from '../../integration/runner/workspace.ts';

test('finds files, folders and symlinks inside the folder', async () => {
  const { files, cwd, write } = await createWorkspace();
  await mkdir(join(cwd, 'sub'));
  await write('sub/a.md', '');
  await symlink('sub/a.md', join(cwd, 'link.md'));
  const result = await files(['sub/a.md', 'sub', './sub/../link.md', '..a/../sub', '.']);
  expect(result).toEqual({ outcome: 'pass', tookMs: expect.any(Number) });
});

test('names missing files in the given order', async () => {
  const { files, cwd, write } = await createWorkspace();
  await write('there', '');
  await symlink('nowhere', join(cwd, 'dangling'));
  const missing = ['z.json', 'a.json', 'there/below-a-file', 'dangling'];
  expect(await files(['z.json', 'there', ...missing.slice(1)])).toEqual({
    outcome: 'fail',
    reason: 'Missing required files: z.json, a.json, there/below-a-file, dangling',
    feedback: { missing },
    tookMs: expect.any(Number),
  });
});

test('a closed runner checks nothing', async () => {
  const { runner, cwd } = await createWorkspace();
  await runner.close();
  const onStarted = vi.fn();
  const request = { kind: 'files', files: ['a'], cwd, timeoutMs: null } as const;
  expect(await runner.run(request, new AbortController().signal, onStarted)).toMatchObject({ outcome: 'error' });
  expect(onStarted).not.toHaveBeenCalled();
});

test('counts missing files that do not fit into the reason', async () => {
  const { files } = await createWorkspace();
  const result = await files(Array.from({ length: 1_500 }, (_, index) => `reports/${index}.json`));
  expect(result.reason).toMatch(/^Missing required files: reports\/0\.json, .* and \d+ more$/);
  const { missing, more } = result.feedback as { missing: string[]; more: number };
  expect(missing.length + more).toBe(1_500);
  expect(JSON.stringify(result).length).toBeLessThan(32_768);
});

describe('an invalid path is an error', () => {
  test.each([
    { file: '../secret', words: 'the required file "../secret" lies outside the worker\'s folder' },
    { file: 'sub/../../secret', words: "lies outside the worker's folder" },
    { file: '..', words: "lies outside the worker's folder" },
    { file: '/secret', words: 'the required file "/secret" is absolute' },
    { file: 'out/secret', words: 'the required file "out/secret" leads out of the worker\'s folder by a symlink' },
    { file: 'out', words: "leads out of the worker's folder by a symlink" },
    { file: 'a\0b', words: 'the required file "a\\u0000b" is not a file name' },
    { file: '', words: 'is not a file name' },
    { file: 'x'.repeat(300), words: 'cannot be accessed (ENAMETOOLONG)' },
    { file: 'loop', words: 'cannot be accessed (ELOOP)' },
  ])('$file', async ({ file, words }) => {
    const { files, root, cwd, write } = await createWorkspace();
    await write('../secret', '');
    await symlink(root, join(cwd, 'out'));
    await symlink('loop', join(cwd, 'loop'));
    const result = await files(['missing', file]);
    expect(result).toMatchObject({ outcome: 'error', reason: expect.stringContaining(words) });
    expect(result).not.toHaveProperty('feedback');
  });
});

test('stops after an abort or the timeout', async () => {
  const { files } = await createWorkspace();
  expect(await files(['a'], { signal: AbortSignal.abort() })).toMatchObject({ outcome: 'error', reason: 'cancelled' });
  const many = Array<string>(200_000).fill('a');
  expect(await files(many, { timeoutMs: 1 })).toMatchObject({
    outcome: 'timeout',
    reason: 'Checking the files took longer than 1ms',
  });
  const controller = new AbortController();
  const looking = files(many, { signal: controller.signal });
  controller.abort();
  expect(await looking).toMatchObject({ outcome: 'error', reason: 'cancelled' });
});
