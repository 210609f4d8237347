/** Reads the lines of a file or of stdin. Only one chunk and one unfinished line are in memory. */
import { createReadStream, existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError } from '../errors.ts';
import type { Io } from '../terminal/process-io.ts';

/**
 * Longer lines become null and their text is dropped. No stored entry, prompt or configuration is that long, and a line
 * of a transcript only if it has several images.
 */
const charactersMax = 8 * 1_048_576;

/** `-` is stdin. @throws AppError input.bad at the first read if the file cannot be read */
export async function* readLines(path: string, io: Io): AsyncGenerator<(string | null)[]> {
  const splitter = createSplitter();
  for await (const text of readChunks(path, io)) yield splitter.push(text);
  yield splitter.end();
}

/** Reads all of a small file or of stdin. @throws AppError input.bad if it cannot be read, or is too long */
export async function readText(path: string, io: Io): Promise<string> {
  let whole = '';
  for await (const text of readChunks(path, io)) {
    whole += text;
    if (whole.length > charactersMax)
      throw new AppError('input.bad', `cannot read ${nameOf(path)}: longer than ${charactersMax} characters`);
  }
  return whole;
}

/** @throws AppError input.bad, with `hint`, if no file was given and the folder has no file with the default name */
export function requireDefaultFile(file: string, given: string | undefined, { cwd }: Io, hint: string): void {
  if (given === undefined && !existsSync(resolve(cwd, file)))
    throw new AppError('input.bad', `cannot read '${file}': there is no such file; ${hint}`);
}

async function* readChunks(path: string, io: Io): AsyncGenerator<string> {
  const source: AsyncIterable<Buffer | string> = path === '-' ? io.stdin : openFile(resolve(io.cwd, path));
  const decoder = new TextDecoder(); // also removes a byte order mark
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
  // `pipeline` forwards the errors of both streams to the reader.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
}

/**
 * Returns the log files of an archive folder, sorted by name, which is log order. A file or `-` is returned unchanged.
 */
export async function findLogFiles(path: string, { cwd }: Io): Promise<readonly string[]> {
  if (path === '-') return [path];
  const whole = resolve(cwd, path);
  const found = await stat(whole).catch(() => null);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(whole)).filter((name) => /\.jsonl(\.gz)?$/.test(name)).sort();
  if (names.length === 0) throw new AppError('input.bad', `'${path}' contains no .jsonl or .jsonl.gz files`);
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
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
        add(text.slice(from, end));
        lines.push(take());
        from = end + 1;
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
  const why = { ...whys, Z_DATA_ERROR: 'it is not a gzip file', Z_BUF_ERROR: 'it is truncated' }[code ?? ''];
  return new AppError('input.bad', `cannot read ${nameOf(path)}: ${why ?? message}`, { cause });
}
