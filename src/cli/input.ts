/** Lines of a file or of stdin, in any number: only one chunk and one unfinished line are in memory. */
import { createReadStream, existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError } from '../errors.ts';
import type { Io } from '../terminal/process-io.ts';

/** A longer line is given as null and its text is dropped. No entry that can be stored is as long, and no prompt or config. */
const charactersMax = 8 * 1_048_576;

/** `-` is stdin. @throws AppError input.bad, at the first read: the file does not exist or cannot be read */
export async function* readLines(path: string, io: Io): AsyncGenerator<(string | null)[]> {
  const splitter = createSplitter();
  for await (const text of readChunks(path, io)) yield splitter.push(text);
  yield splitter.end();
}

/** The whole of a small file or of stdin. @throws AppError input.bad, also where it is too long or has no end */
export async function readText(path: string, io: Io): Promise<string> {
  let whole = '';
  for await (const text of readChunks(path, io)) {
    whole += text;
    if (whole.length > charactersMax)
      throw new AppError('input.bad', `cannot read ${nameOf(path)}: it has more than ${charactersMax} characters`);
  }
  return whole;
}

/** Refuses a command that was given no file in a folder without the usual one, and tells what to do. */
export function requireUsual(file: string, given: string | undefined, { cwd }: Io, hint: string): void {
  if (given === undefined && !existsSync(resolve(cwd, file)))
    throw new AppError('input.bad', `cannot read '${file}': there is no such file; ${hint}`);
}

async function* readChunks(path: string, io: Io): AsyncGenerator<string> {
  const source: AsyncIterable<Buffer | string> = path === '-' ? io.stdin : openFile(resolve(io.cwd, path));
  const decoder = new TextDecoder(); // It also removes a byte order mark.
  try {
    for await (const chunk of source) {
      yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    }
  } catch (cause) {
    throw readError(path, cause);
  }
  yield decoder.decode();
}

function openFile(path: string): Readable {
  const file = createReadStream(path);
  // Who reads it gets the error of both.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
}

/** Returns the files of a log's archive by name, which is the log's order. A file, or `-`, is returned as it is. */
export async function findLogFiles(path: string, { cwd }: Io): Promise<readonly string[]> {
  if (path === '-') return [path];
  const whole = resolve(cwd, path);
  const found = await stat(whole).catch(() => null);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(whole)).filter((name) => /\.jsonl(\.gz)?$/.test(name)).sort();
  if (names.length === 0) throw new AppError('input.bad', `'${path}' holds no .jsonl or .jsonl.gz file`);
  return names.map((name) => join(whole, name));
}

function createSplitter() {
  let parts: string[] = [];
  let length = 0;
  const take = (): string | null => {
    const line = length > charactersMax ? null : parts.join('');
    parts = [];
    length = 0;
    return line === null || !line.endsWith('\r') ? line : line.slice(0, -1);
  };
  const add = (part: string) => {
    length += part.length;
    if (length > charactersMax) parts = [];
    else if (part !== '') parts.push(part);
  };
  return {
    push(text: string): (string | null)[] {
      const lines: (string | null)[] = [];
      let from = 0;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        add(text.slice(from, at));
        lines.push(take());
        from = at + 1;
      }
      add(text.slice(from));
      return lines;
    },
    end: (): (string | null)[] => (length === 0 ? [] : [take()]),
  };
}

const nameOf = (path: string): string => (path === '-' ? 'stdin' : `'${path}'`);

function readError(path: string, cause: unknown): AppError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const whys = { ENOENT: 'there is no such file', EISDIR: 'it is a folder', EACCES: 'permission denied' };
  const why = { ...whys, Z_DATA_ERROR: 'it is no gzip file', Z_BUF_ERROR: 'it ends too early' }[code ?? ''];
  return new AppError('input.bad', `cannot read ${nameOf(path)}: ${why ?? message}`, { cause });
}
