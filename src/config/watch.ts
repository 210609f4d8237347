/**
 * Notices that a file has changed, by looking at it. Events of the file system are left out on purpose: they are lost
 * on network and container mounts, and an editor that saves by rename takes the watched file away.
 */
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** Ends the watch; `onChange` is not called any more. */
export type ConfigWatch = { close(): void };

/**
 * Calls `onChange` with the whole text when it has become another one, with null when the file has gone. A file that is
 * still being written is left alone until two looks in a row find it the same, so news take between one and two
 * intervals. What cannot be read is looked at again. Never keeps the process alive.
 * @param known the text that the caller has read already (null: no file); default: what stands there now
 */
export function watchConfigFile(
  path: string,
  onChange: (text: string | null) => void,
  intervalMs = 500,
  known: string | null = readNow(path),
): ConfigWatch {
  const look = createLook(path);
  let told = known;
  let closed = false;
  let timer: NodeJS.Timeout;
  const turn = async () => {
    const found = await look().catch(() => undefined);
    if (closed) return;
    if (found !== undefined && found !== told) {
      told = found;
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
 * One look gives the text (null: no file) if the file is another one than when it was last read, and has not changed
 * since the look before; else undefined.
 * @throws of the file system: it may not be readable yet
 */
function createLook(path: string): () => Promise<string | null | undefined> {
  let seen: string | null = null;
  let read: string | null = null;
  return async () => {
    const before = seen;
    seen = await describeState(path);
    if (seen === read || seen !== before) return undefined;
    const text = seen === gone ? null : await readFile(path, 'utf8');
    // A write may have begun meanwhile: then what was read may be half of it.
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
