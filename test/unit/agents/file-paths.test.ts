/** Resolving the file names of tools, and comparing folder names. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isSameFolder, keepLinks, resolveFiles } from '../../../src/agents/shared/file-paths.ts';
import { resolveLinks } from '../../../src/agents/shared/links.ts';
import { filesInPatch } from '../../../src/agents/shared/patch.ts';

const place = (file: string, root: string | null = '/w/p', from: string | null = root) => {
  const { files, areAllInRoot } = resolveFiles([file], { root, from, realPath: keepLinks });
  return [files[0], areAllInRoot];
};

test.each([
  ['/w/p/src/a.ts', 'src/a.ts'],
  ['src/a.ts', 'src/a.ts'],
  ['./src/../src/./a.ts', 'src/a.ts'],
  ['/w/p/../p/a.ts', 'a.ts'],
  ['file:///w/p/a%20b.ts', 'a b.ts'],
  ['..a/b.ts', '..a/b.ts'],
])('%s is %s', (file, within) => {
  expect(place(file)).toEqual([within, true]);
});

test.each(['/etc/hosts', '../a.ts', 'src/../../a.ts', '/w/p', '.', '/w/p-two/a.ts', '~/a.ts', 'C:\\w\\p\\a.ts'])(
  '%s is not in the folder and keeps its name',
  (file) => {
    expect(place(file)).toEqual([file, false]);
  },
);

test.each([
  ['C:\\w\\p', 'c:\\W\\P\\src\\a.ts', 'src/a.ts'],
  ['c:/w/p', 'C:/w/p/a.ts', 'a.ts'],
  ['C:\\w\\p', '/c/w/p/a.ts', 'a.ts'],
  ['C:\\w\\p', '\\\\?\\C:\\w\\p\\a.ts', 'a.ts'],
  ['C:\\w\\p', 'src\\a.ts', 'src/a.ts'],
])('on Windows in %s, %s is %s', (root, file, within) => {
  expect(place(file, root)).toEqual([within, true]);
});

test('on Windows, a file on another drive is outside', () => {
  expect(place('D:\\w\\p\\a.ts', 'C:\\w\\p')).toEqual(['D:\\w\\p\\a.ts', false]);
});

test('without a folder, only relative names are resolved', () => {
  expect(place('src/./a.ts', null)).toEqual(['src/a.ts', true]);
  for (const file of ['/w/p/a.ts', '../a.ts', '.']) expect(place(file, null)).toEqual([file, false]);
});

test('an invalid name, or one too many, makes the changes unknown', () => {
  const inRoot = (named: unknown[]) => resolveFiles(named, { root: '/w', from: '/w', realPath: keepLinks });
  expect(inRoot(['a', 7, ''])).toMatchObject({ files: ['a'], areAllInRoot: false });
  expect(inRoot(['a', './a', '/w/a'])).toMatchObject({ files: ['a'], areAllInRoot: true });
  const many = inRoot(Array.from({ length: 101 }, (_, index) => `f${index}`));
  expect([many.files.length, many.areAllInRoot]).toEqual([100, false]);
  expect(inRoot(['x'.repeat(5_000)])).toMatchObject({ files: [], areAllInRoot: false });
});

test.each([
  ['/w/p', '/w/p/', true],
  ['/w/p', '/w/./x/../p', true],
  ['/w/p', '/w/P', false],
  ['C:\\w', 'c:/W/', true],
  ['/', '/', true],
])('%s and %s are the same folder: %s', (one, other, same) => {
  expect(isSameFolder(one, other, keepLinks)).toBe(same);
});

test('links are resolved, even for a file that does not exist', async () => {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'links-')));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const [real, link] = [join(home, 'real'), join(home, 'link')];
  await mkdir(join(real, 'deep'), { recursive: true });
  await writeFile(join(real, 'a.ts'), '');
  await symlink(real, link);
  await symlink(join(real, 'deep'), join(home, 'inner'));
  const links = await resolveLinks([
    link,
    join(link, 'a.ts'),
    join(link, 'new', 'b.ts'),
    // `..` after a link refers to the parent of its target.
    `${home}/inner/../a.ts`,
    join(home, 'gone'),
    'a.ts',
  ]);
  expect([...links.values()].sort()).toEqual(
    [real, join(real, 'a.ts'), join(real, 'new', 'b.ts'), join(real, 'a.ts'), join(home, 'gone'), 'a.ts'].sort(),
  );
  const realPath = (path: string) => links.get(path) ?? path;
  expect(isSameFolder(link, real, realPath)).toBe(true);
  const named = [join(link, 'a.ts'), `${home}/inner/../a.ts`];
  expect(resolveFiles(named, { root: link, from: link, realPath })).toMatchObject({
    files: ['a.ts'],
    areAllInRoot: true,
  });
});

test('finds the files of a patch', () => {
  const own =
    '*** Begin Patch\n*** Add File: a.ts\n+x\n*** Update File: b.ts\n*** Move to: c.ts\n*** Delete File: d.ts\n*** End Patch';
  expect(filesInPatch(own)).toEqual(['a.ts', 'b.ts', 'c.ts', 'd.ts']);
  expect(filesInPatch('--- a/x.ts\t2026\n+++ b/x.ts\n@@\n--- /dev/null\n+++ b/new.ts\n')).toEqual(['x.ts', 'new.ts']);
  const newer = '*** Begin Patch\n*** Update File: a.ts\n*** Swap Files: b.ts, c.ts\n*** End Patch\n';
  expect(filesInPatch(newer)).toEqual([]);
  for (const none of ['', 'no patch', 7, undefined, 'x'.repeat(1_000_001)]) expect(filesInPatch(none)).toEqual([]);
});
