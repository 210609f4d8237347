/**
 * Notices that a file has changed, by polling. File system events are not used: they get lost on network and container
 * mounts, and an editor that saves by renaming removes the watched file.
 */
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** Ends the watch; `onChange` is not called after that. */
export type ConfigWatch = { close(): void };

/**
 * Calls `onChange` with the whole text when it has changed, and with null when the file is gone. A file that is still
 * being written is left alone until two polls in a row find the same state, so a change takes one to two intervals. A
 * file that cannot be read is polled again. Never keeps the process alive.
 * @param known the text that the caller has read already (null: no file); default: what the file contains now
 */
export function watchConfigFile(
  path: string,
  onChange: (text: string | null) => void,
  intervalMs = 500,
  known: string | null = readNow(path),
): ConfigWatch {
  const poll = createPoll(path);
  let reported = known;
  let closed = false;
  let timer: NodeJS.Timeout;
  const turn = async () => {
    const found = await poll().catch(() => undefined);
    if (closed) return;
    if (found !== undefined && found !== reported) {
      reported = found;
      onChange(found);
    }
    next();
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

function readNow(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
