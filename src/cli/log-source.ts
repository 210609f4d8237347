/** Reads a replay's entries from one of two sources: a file, or the live log of a fleet up to where it is now. */
import type { Replay } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Context } from './command.ts';
import { type Place, withRequester } from './connection.ts';
import { findLogFiles, readLines } from './input.ts';

type Fold = Pick<Replay, 'fold' | 'foldMessage'>;
type Source = Context<Place & { readonly file: string | undefined; readonly archive: string | undefined }>;

/**
 * Folds all of it, and writes what `result` gives after each step. Ends early when stdout is closed, and in a live log
 * after `untilMs`. Gives the exit code: 2 if the file has bad lines.
 */
export async function feedFold(
  fold: Fold,
  context: Source,
  untilMs: number | undefined,
  result: () => string,
): Promise<number> {
  const { file } = context.flags;
  if (file === undefined) return feedLive(fold, context, untilMs ?? Number.POSITIVE_INFINITY, result);
  const bad = await feedFile(fold, file, context, result);
  return bad > 0 && !context.out.closed.aborted ? 2 : 0;
}

/** Gives how many lines are bad. */
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
      text += result(); // After each line, so that decisions of several fleets come in the order in which they were made.
    }
    await out.write(text);
    if (out.closed.aborted) break;
  }
  return bad;
}

function feedLive(fold: Fold, context: Source, untilMs: number, result: () => string): Promise<number> {
  const { flags, io, out, note } = context;
  const decoder = new TextDecoder();
  return withRequester(flags, io, async (requester) => {
    const { count, batches } = await requester.read();
    const progress = openProgress(context, count);
    let refused = 0;
    let isFirst = true;
    for await (const batch of batches) {
      const firstSeq = batch[0]?.seq ?? 1;
      if (isFirst && firstSeq > 1) await feedArchive(fold, context, firstSeq, result);
      isFirst = false;
      for (const { seq, atMs, subject, data } of batch) {
        if (atMs > untilMs) continue;
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
    // The service has reported them as dead letters; they change nothing here either.
    if (refused > 0)
      note(`stopgate: skipped ${refused} bad ${refused === 1 ? 'entry' : 'entries'}, as the service did`);
    return 0;
  });
}

/**
 * Feeds the entries that retention has removed from the log. @throws AppError input.bad: the archive does not have it,
 * or none is named
 */
async function feedArchive(fold: Fold, context: Source, firstSeq: number, result: () => string): Promise<void> {
  const { archive } = context.flags;
  const cut = `the log begins at entry ${firstSeq}, since retention has removed those before`;
  if (archive === undefined)
    throw new AppError('input.bad', `${cut}; a replay needs these: name the archive folder with --archive`);
  let lastSeq = 0;
  const checked: Fold = {
    ...fold,
    fold(line) {
      const seq = seqOf(line);
      if (seq === null || seq <= lastSeq || seq >= firstSeq) return null;
      if (seq !== lastSeq + 1) throw new AppError('input.bad', `${cut}; '${archive}' lacks entry ${lastSeq + 1}`);
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

/** One line on stderr that is overwritten; nothing if stderr is not a terminal, or the log is short. */
function openProgress({ io: { stderr, isTTY } }: Source, count: number) {
  const isShown = isTTY && 'isTTY' in stderr && stderr.isTTY === true && count > shownEvery;
  const clear = () => void (isShown && stderr.write('\r\u001b[K'));
  let read = 0;
  let next = shownEvery;
  return {
    clear,
    add(more: number) {
      read += more;
      if (read < next || !isShown) return;
      next = read + shownEvery;
      stderr.write(`\r\u001b[Kread ${read.toLocaleString('en')} of ${count.toLocaleString('en')} entries`);
    },
  };
}
