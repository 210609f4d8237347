/** The archive keeps files of an earlier log of the same fleet, and replaces only its own unfinished ones. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { writeArchive } from '../../../src/host/maintenance/archive.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-archive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Entries 1 to `count` of a log in which the first was stored at `atMs`. */
const logOf = (count: number, atMs: number): LogMessage[] =>
  Array.from({ length: count }, (_, index) => ({
    seq: index + 1,
    atMs: atMs + index,
    subject: 'stopgate.main.worker.w1.heartbeat.sent',
    data: new Uint8Array(),
    header: () => undefined,
  }));
const entriesIn = (name: string): number =>
  gunzipSync(readFileSync(join(folder, name)))
    .toString()
    .trimEnd()
    .split('\n').length;
const countsByFile = () => readdirSync(folder).map((name) => entriesIn(name));

test.each([
  ['as long', 3],
  ['of another length', 2],
])('the archive of an earlier log is kept beside one that is %s', async (_name, count) => {
  await writeArchive(folder, 'main', logOf(3, 1_000));
  await writeArchive(folder, 'main', logOf(count, 9_000));
  expect(countsByFile().sort()).toEqual([count, 3]);
});

test('a file of an earlier run that did not trim the log is replaced', async () => {
  await writeArchive(folder, 'main', logOf(2, 1_000));
  await writeArchive(folder, 'main', logOf(3, 1_000));
  expect(countsByFile()).toEqual([3]);
});

test('a reported file survives a power loss: its data is synced first, then its name, then the names of new folders', async () => {
  const archive = join(folder, 'new', 'archive');
  const handle = await open(folder, 'r');
  const ofHandles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const synced: unknown[] = [];
  const { sync } = ofHandles;
  const spy = vi.spyOn(ofHandles, 'sync').mockImplementation(async function (this: FileHandle) {
    const what = (await this.stat()).isDirectory() ? 'a folder' : 'a file';
    synced.push([
      what,
      existsSync(archive) ? readdirSync(archive).map((name) => name.split('.').slice(2).join('.')) : [],
    ]);
    return sync.call(this);
  });
  await writeArchive(archive, 'main', logOf(3, 1_000)).finally(() => spy.mockRestore());
  expect(synced).toEqual([
    ['a file', ['jsonl.gz.partial']],
    ['a folder', ['jsonl.gz']],
    ['a folder', ['jsonl.gz']],
    ['a folder', ['jsonl.gz']],
  ]);
});
