/**
 * The archive of a log (protocol.md §15): what retention cuts, as gzip files of JSON lines that `stopgate replay` reads. A
 * file has its name only when it is whole and on the disk.
 */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { toLogLine } from '../nats/log-line.ts';
import type { LogMessage } from '../nats/log-reader.ts';

const zip = promisify(gzip);

/** In the log's order when they are sorted by name. */
const nameOf = (fleet: string, fromSeq: number, toSeq: number): string =>
  `${fleet}.${pad(fromSeq)}-${pad(toSeq)}.jsonl.gz`;
const pad = (seq: number): string => String(seq).padStart(16, '0');

/**
 * Writes one file of what stands from the first to the last of `messages`, which are in order and not none.
 * @throws what the file system throws
 */
export async function writeArchive(folder: string, fleet: string, messages: readonly LogMessage[]): Promise<string> {
  const [first, last] = [messages[0], messages.at(-1)] as [LogMessage, LogMessage];
  await mkdir(folder, { recursive: true });
  const name = nameOf(fleet, first.seq, last.seq);
  const path = join(folder, name);
  const partial = `${path}.partial`;
  const file = await open(partial, 'w');
  try {
    await file.writeFile(await zip(messages.map((message) => `${JSON.stringify(toLogLine(message))}\n`).join('')));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  // What an earlier try wrote, before it ended without the cut.
  const stale = (await readdir(folder)).filter((it) => it.startsWith(`${fleet}.${pad(first.seq)}-`) && it !== name);
  for (const each of stale) await rm(join(folder, each));
  return path;
}
