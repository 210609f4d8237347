/**
 * Detects changes of a file by polling. File system events get lost on network and container mounts, and an editor that
 * saves by renaming removes the watched file.
 */
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '../log.ts';
import { describeSystemError } from '../system-error.ts';

type WatchOptions = {
  readonly path: string;
  /** Called with the new text, or with null when the file is gone. Errors that it throws are logged. */
  readonly onChange: (text: string | null) => void;
  readonly logger: Logger;
  /** Default: 500 ms. */
  readonly intervalMs?: number | undefined;
  /** The text that the caller already knows (null: no file). Default: the current text. */
  readonly known?: string | null | undefined;
};

/** `onChange` is not called after `close`. */
export type ConfigWatch = { close(): void };

/**
 * Reads a changed file once two polls in a row find the same state, so that it is not read half-written; a change takes
 * one to two intervals. A file that cannot be read is reported once and polled again. The watch does not keep the
 * process alive, and no error here may end it.
 */
export function watchFile({ path, onChange, logger, intervalMs = 500, known }: WatchOptions): ConfigWatch {
  const poll = createPoll(path);
  let reported = known === undefined ? readNow(path) : known;
  let unreadable: string | null = null;
  let closed = false;
  let timer: NodeJS.Timeout;
  const onUnreadable = (error: unknown) => {
    if (closed || isMissing(error)) return; // the file was just removed and may come back
    const reason = describeSystemError(error);
    if (reason !== unreadable)
      logger.error({ file: path, reason }, 'cannot read a file: its last contents stay in force');
    unreadable = reason;
  };
  const turn = async () => {
    const found = await poll().catch(onUnreadable);
    if (closed) return;
    if (found !== undefined) {
      unreadable = null;
      if (found !== reported) report(found);
    }
    next();
  };
  const report = (found: string | null) => {
    reported = found;
    try {
      onChange(found);
    } catch (error) {
      logger.error({ err: error, file: path }, 'cannot apply a changed file: restart to apply it');
    }
  };
  const next = () => {
    timer = setTimeout(() => void turn(), intervalMs).unref();
  };
  next();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Returns a poll function. It returns the text (null: no file) if the file has changed since the last read but not
 * since the last poll, otherwise undefined.
 * @throws Error of the file system if the file cannot be read
 */
function createPoll(path: string): () => Promise<string | null | undefined> {
  let seen: string | null = null;
  let read: string | null = null;
  return async () => {
    const before = seen;
    seen = await describeState(path);
    if (seen === read || seen !== before) return undefined;
    const text = seen === gone ? null : await readFile(path, 'utf8');
    // A write may have started meanwhile, so the text may be incomplete.
    if ((await describeState(path)) !== seen) return undefined;
    read = seen;
    return text;
  };
}

const gone = 'gone';

/** Size, times and inode of the file. */
async function describeState(path: string): Promise<string> {
  try {
    const { size, mtimeNs, ctimeNs, ino } = await stat(path, { bigint: true });
    return [size, mtimeNs, ctimeNs, ino].join(' ');
  } catch (error) {
    if (isMissing(error)) return gone;
    throw error;
  }
}

/** Returns undefined if the file cannot be read, so that the next successful read counts as a change. */
function readNow(path: string): string | null | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return isMissing(error) ? null : undefined;
  }
}

const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
