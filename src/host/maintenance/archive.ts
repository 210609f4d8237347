/** The archive of retention: what is removed from the log is kept in files, each with a part of the log. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { formatLogLine } from '../../nats/log/log-line.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** File names that sort in the log's order. */
const nameOf = (fleet: string, fromSeq: number, toSeq: number): string =>
  `${fleet}.${pad(fromSeq)}-${pad(toSeq)}.jsonl.gz`;
const pad = (seq: number): string => String(seq).padStart(16, '0');

/**
 * Writes one file with `messages`, which are in order and not none. It is on the disk when this resolves.
 * @throws what the file system throws
 */
export async function writeArchive(folder: string, fleet: string, messages: readonly LogMessage[]): Promise<string> {
  const [first, last] = [messages[0], messages.at(-1)] as [LogMessage, LogMessage];
  const made = await mkdir(folder, { recursive: true });
  const usual = nameOf(fleet, first.seq, last.seq);
  const isTaken = await beginsWith(join(folder, usual), first).then(
    (isSame) => !isSame,
    () => false,
  );
  const name = isTaken ? usual.replace('.jsonl', `.${first.atMs}.jsonl`) : usual;
  const path = join(folder, name);
  const partial = `${path}.partial`;
  const file = await open(partial, 'w');
  try {
    await file.writeFile(await zip(messages.map((message) => `${formatLogLine(message)}\n`).join('')));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  await syncFolder(folder);
  // The names of folders that were made, too.
  for (let at = folder; made !== undefined && at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
  // A try that ended before the log was cut has left others.
  const others = (await readdir(folder)).filter((it) => it.startsWith(`${fleet}.${pad(first.seq)}-`) && it !== name);
  for (const each of others) if (await beginsWith(join(folder, each), first)) await rm(join(folder, each));
  return path;
}

/** The errors of folders that cannot be synced, as on Windows, where the file system looks after their names. */
const withoutFolderSync: readonly unknown[] = ['EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'];

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!withoutFolderSync.includes((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** Tells whether it is of the same log: an earlier one that is gone had other entries under these numbers. */
async function beginsWith(path: string, first: LogMessage): Promise<boolean> {
  const [line] = (await unzip(await readFile(path))).toString('utf8').split('\n', 1);
  return line === formatLogLine(first);
}
