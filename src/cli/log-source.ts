/** Feeds a replay from a file, or from the live log of a fleet up to its current end. */
import { formatIsoTime, type Replay, readEntry, topicOf } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { Requester } from '../nats/requester.ts';
import type { Context } from './command.ts';
import { type ServiceAddress, withRequester } from './connection.ts';
import { findLogFiles, readLines } from './input.ts';
import { createProgress } from './progress.ts';

type Fold = Pick<Replay, 'fold' | 'foldMessage' | 'startFrom' | 'firstLines'>;
type Source = Context<ServiceAddress & { readonly file: string | undefined; readonly archive: string | undefined }>;

/**
 * How much of a live log a replay needs if retention has removed its beginning and no archive is given: `whole` needs
 * all of it, `rest` only the part that is left, and `fromMs` the state just before that time and everything after it.
 * `rest` and `fromMs` can continue from a snapshot.
 */
export type Reach = 'whole' | 'rest' | { readonly fromMs: number };
type Extent = { readonly untilMs?: number | undefined; readonly reach: Reach };

/**
 * Folds the entries and writes `result()` after each step. Ends early when stdout is closed and, for a live log, after
 * `untilMs`.
 * @returns the exit code: 2 if the file has bad lines
 */
export async function feedFold(fold: Fold, context: Source, extent: Extent, result: () => string): Promise<number> {
  const { file } = context.flags;
  if (file === undefined) return feedLive(fold, context, extent, result);
  const bad = await feedFile(fold, file, context, result);
  for (const [fleet, { seq, subject }] of fold.firstLines)
    if (seq > 1 && topicOf(subject).entity !== 'fleet') context.note(describeLateBeginning(fleet, seq));
  return bad > 0 && !context.out.closed.aborted ? 2 : 0;
}

/** Not printed for the export of one worker: it begins late too, but includes the policies from the beginning. */
const describeLateBeginning = (fleet: string, seq: number): string =>
  `stopgate: the log of fleet ${fleet} begins at entry ${seq} here. The state before it, including policies, is unknown, ` +
  'so decisions may differ from those of the service';

/** Returns the number of bad lines. */
async function feedFile(fold: Fold, file: string, context: Source, result: () => string): Promise<number> {
  const { io } = context;
  let bad = 0;
  const files = await findLogFiles(file, io);
  for (const each of files) bad += await feedLines(fold, each, context, result, files.length > 1 ? `${each}: ` : '');
  return bad;
}

async function feedLines(
  fold: Fold,
  file: string,
  { io, out, note }: Source,
  result: () => string,
  prefix: string,
): Promise<number> {
  let number = 0;
  let bad = 0;
  for await (const lines of readLines(file, io)) {
    let text = '';
    for (const line of lines) {
      number += 1;
      const why = line === null ? 'is too long' : fold.fold(line);
      if (why !== null) {
        note(`${prefix}line ${number}: ${why}`);
        bad += 1;
      }
      // After each line, which keeps the decisions of several fleets in order.
      text += result();
    }
    await out.write(text);
    if (out.closed.aborted) break;
  }
  return bad;
}

function feedLive(fold: Fold, context: Source, extent: Extent, result: () => string): Promise<number> {
  const untilMs = extent.untilMs ?? Number.POSITIVE_INFINITY;
  const { flags, io, out, note } = context;
  return withRequester(flags, io, async (requester) => {
    const { count, batches } = await requester.read();
    const progress = openProgress(context, count);
    let refused = 0;
    let isFirst = true;
    let startSeq = 0;
    for await (const batch of batches) {
      const firstSeq = batch[0]?.seq ?? 1;
      if (isFirst && firstSeq > 1) {
        if (flags.archive === undefined) startSeq = await startFromSnapshot(fold, requester, firstSeq, extent.reach);
        else await feedArchive(fold, context, flags.archive, firstSeq, result);
      }
      isFirst = false;
      for (const { seq, atMs, subject, data } of batch) {
        if (atMs > untilMs || seq <= startSeq) continue;
        if (fold.foldMessage({ seq, atMs, subject, text: decoder.decode(data), bytes: data.length }) !== null)
          refused += 1;
      }
      const text = result();
      if (text !== '') progress.clear();
      await out.write(text);
      progress.add(batch.length);
      if (out.closed.aborted || (batch.at(-1)?.atMs ?? 0) > untilMs) break;
    }
    progress.clear();
    // The service reported these as dead letters. They have no effect here either.
    if (refused > 0)
      note(`stopgate: skipped ${refused} bad ${refused === 1 ? 'entry' : 'entries'}, as the service did`);
    return 0;
  });
}

const decoder = new TextDecoder();

/** Reads a message of the log as an entry. Returns null for a refused one. */
export function entryOf({ subject, data }: LogMessage) {
  const entry = readEntry(subject, decoder.decode(data), data.length);
  return entry !== null && 'data' in entry ? entry : null;
}

const describeCut = (firstSeq: number): string =>
  `the log begins at entry ${firstSeq}; retention has removed the earlier entries`;

/**
 * Continues from a stored snapshot if it can replace the removed entries.
 * @returns the snapshot's last entry. @throws AppError input.bad if no snapshot can
 */
async function startFromSnapshot(
  fold: Fold,
  requester: Pick<Requester, 'loadStart'>,
  firstSeq: number,
  reach: Reach,
): Promise<number> {
  const start = reach === 'whole' ? null : await requester.loadStart(reach === 'rest' ? undefined : reach.fromMs);
  if (start !== null) {
    fold.startFrom(start.fleet);
    return start.position.seq;
  }
  const oldest = await requester.loadStart();
  const alternative =
    oldest === null
      ? 'no snapshot covers the rest'
      : `without an archive, --at, --diff with --since, and "stopgate explain" reach back to ${formatIsoTime(oldest.position.atMs)}, when a snapshot was taken`;
  throw new AppError(
    'input.bad',
    `${describeCut(firstSeq)}, and a replay needs them: give the archive folder with --archive; ${alternative}`,
  );
}

/** Feeds the entries that retention has removed from the log. @throws AppError input.bad if the archive lacks one */
async function feedArchive(
  fold: Fold,
  context: Source,
  archive: string,
  firstSeq: number,
  result: () => string,
): Promise<void> {
  const cut = describeCut(firstSeq);
  let lastSeq = 0;
  const checked: Fold = {
    ...fold,
    fold(line) {
      const seq = seqOf(line);
      if (seq === null || seq <= lastSeq || seq >= firstSeq) return null;
      if (seq !== lastSeq + 1) throw new AppError('input.bad', `${cut}; '${archive}' is missing entry ${lastSeq + 1}`);
      lastSeq = seq;
      return fold.fold(line);
    },
  };
  await feedFile(checked, archive, context, result);
  if (lastSeq !== firstSeq - 1) throw new AppError('input.bad', `${cut}; '${archive}' ends at entry ${lastSeq}`);
}

function seqOf(line: string): number | null {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === 'number' ? seq : null;
  } catch {
    return null;
  }
}

const shownEvery = 20_000;

/** Shows nothing for short logs, or if stdout is not a terminal. */
function openProgress({ io }: Source, count: number) {
  const progress = createProgress(io);
  const isShown = io.isTTY && count > shownEvery;
  let read = 0;
  let next = shownEvery;
  return {
    clear() {
      if (isShown) progress.clear();
    },
    add(more: number) {
      read += more;
      if (read < next || !isShown) return;
      next = read + shownEvery;
      progress.show(`read ${read.toLocaleString('en')} of ${count.toLocaleString('en')} entries`);
    },
  };
}
