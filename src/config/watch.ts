/**
 * Notices that a file has changed, by polling. File system events are not used: they get lost on network and container
 * mounts, and an editor that saves by renaming removes the watched file.
 */
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Logger } from '../log.ts';
import { describeSystemError } from '../system-error.ts';
import type { Config } from './config.ts';
import { type ReadConfigFile, readConfigFile } from './file-reader.ts';
import { describePosition } from './problems.ts';

type WatchOptions = {
  readonly path: string;
  /** Gets the whole text when it has changed, and null when the file is gone. An error that it throws is logged. */
  readonly onChange: (text: string | null) => void;
  readonly logger: Logger;
  /** Default: 500 ms. */
  readonly intervalMs?: number | undefined;
  /** The text that the caller has read already (null: no file); default: what the file contains now. */
  readonly known?: string | null | undefined;
};

/** Ends the watch; `onChange` is not called after that. */
export type ConfigWatch = { close(): void };

/**
 * A file that is still being written is left alone until two polls in a row find the same state, so a change takes one
 * to two intervals. A file that cannot be read is polled again, and reported once. The watch never keeps the process
 * alive. This is the one place from which a change of a file reaches a running process: nothing that goes wrong there
 * may end it.
 */
export function watchFile({ path, onChange, logger, intervalMs = 500, known }: WatchOptions): ConfigWatch {
  const poll = createPoll(path);
  let reported = known === undefined ? readNow(path) : known;
  let unreadable: string | null = null;
  let closed = false;
  let timer: NodeJS.Timeout;
  const onUnreadable = (error: unknown) => {
    if (closed || isMissing(error)) return; // it has just gone, and may be about to come back
    const reason = describeSystemError(error);
    if (reason !== unreadable)
      logger.error({ file: path, reason }, 'a file cannot be read: what it said stays in force');
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
      logger.error(
        { err: error, file: path },
        'a changed file could not be applied: restart to have all of it in force',
      );
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
 * One poll gives the text (null: no file) if the file has changed since it was last read but not since the poll before;
 * otherwise undefined.
 * @throws of the file system: it may not be readable yet
 */
function createPoll(path: string): () => Promise<string | null | undefined> {
  let seen: string | null = null;
  let read: string | null = null;
  return async () => {
    const before = seen;
    seen = await describeState(path);
    if (seen === read || seen !== before) return undefined;
    const text = seen === gone ? null : await readFile(path, 'utf8');
    // A write may have started meanwhile, and the text may be half of it.
    if ((await describeState(path)) !== seen) return undefined;
    read = seen;
    return text;
  };
}

const gone = 'gone';

/** Size, times and identity of the file. */
async function describeState(path: string): Promise<string> {
  try {
    const { size, mtimeNs, ctimeNs, ino } = await stat(path, { bigint: true });
    return [size, mtimeNs, ctimeNs, ino].join(' ');
  } catch (error) {
    if (isMissing(error)) return gone;
    throw error;
  }
}

/** Returns undefined if it cannot be read, so whatever it turns out to be is a change. */
function readNow(path: string): string | null | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return isMissing(error) ? null : undefined;
  }
}

const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Follows stopgate.yaml while a service or a runner runs. */
type Read = Extract<ReadConfigFile, { ok: true }>;

/** Passes on each changed file. A broken, empty or missing one, or one with `faultsOf` it, is logged instead. */
export function followConfigFile(
  { filePath, fileText, fileIntervalMs }: Config,
  logger: Logger,
  onFile: (read: Read) => void,
  faultsOf: (read: Read) => readonly string[] = () => [],
): { close(): void } {
  const onChange = (text: string | null) => {
    if (text === null) {
      logger.warn({ file: filePath }, 'the configuration file is gone: the old one stays in force');
      return;
    }
    const read = readConfigFile(text, filePath);
    // Many programs empty a file before they write it, and a full disk leaves it so: that withdraws no rules.
    const problems = read.ok
      ? read.isEmpty
        ? [`${basename(filePath)} is empty; to have no rules, write "policies: {}"`]
        : faultsOf(read)
      : read.problems.map((it) => `${describePosition(it, filePath)}: ${it.message}`);
    if (!read.ok || problems.length > 0) {
      logger.error({ problems }, 'the configuration is broken: the old one stays in force');
      return;
    }
    onFile(read);
    logger.info({ file: filePath }, 'the configuration has changed');
  };
  return watchFile({ path: filePath, onChange, logger, intervalMs: fileIntervalMs, known: fileText });
}
