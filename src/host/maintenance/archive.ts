/**
 * The archive of retention: gzipped files with the entries that were removed from the log, each a contiguous part of
 * it.
 */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { formatLogLine } from '../../nats/log/log-line.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** File names sort in the log's order. */
const fileNameOf = (fleet: string, fromSeq: number, toSeq: number): string =>
  `${fleet}.${pad(fromSeq)}-${pad(toSeq)}.jsonl.gz`;
const pad = (seq: number): string => String(seq).padStart(16, '0');

/**
 * Writes `messages`, which must be in order and not empty, to one file. The file is synced to disk when this resolves.
 * @throws errors of the file system
 */
export async function writeArchive(folder: string, fleet: string, messages: readonly LogMessage[]): Promise<string> {
  const [first, last] = [messages[0], messages.at(-1)] as [LogMessage, LogMessage];
  const made = await mkdir(folder, { recursive: true });
  const plainName = fileNameOf(fleet, first.seq, last.seq);
  // A file of that name may be from another log.
  const isTaken = await beginsWith(join(folder, plainName), first).then(
    (isSame) => !isSame,
    () => false,
  );
  const name = isTaken ? plainName.replace('.jsonl', `.${first.atMs}.jsonl`) : plainName;
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
  // Also sync the parents of the folders that were just created.
  for (let created = folder; made !== undefined && created.length >= made.length; created = dirname(created))
    await syncFolder(dirname(created));
  // An earlier run that ended before the log was trimmed may have left a file with a part of these entries.
  const others = (await readdir(folder)).filter(
    (other) => other.startsWith(`${fleet}.${pad(first.seq)}-`) && other !== name,
  );
  for (const each of others) if (await beginsWith(join(folder, each), first)) await rm(join(folder, each));
  return path;
}

/** Errors of file systems that cannot sync folders, as on Windows, where this is not needed. */
const withoutFolderSync: readonly unknown[] = ['EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'];

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!withoutFolderSync.includes((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** Whether the file is from the same log. A log that was replaced had other entries at these sequence numbers. */
async function beginsWith(path: string, first: LogMessage): Promise<boolean> {
  const [line] = (await unzip(await readFile(path))).toString('utf8').split('\n', 1);
  return line === formatLogLine(first);
}
