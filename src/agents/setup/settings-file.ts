/** An agent's settings file: read, and replaced atomically with its mode, and only inside the folder it should be in. */
import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, relative } from 'node:path';
import { AppError } from '../../errors.ts';
import { describeSystemError } from '../../system-error.ts';
import { type DiffLine, diffLines } from '../../text/line-diff.ts';
import { positionOf, SyntaxProblem } from './json-edit.ts';

export type SettingsFile = {
  /** As the agent names it. */
  readonly path: string;
  /** With links resolved. */
  readonly target: string;
  /** It is null if there is no such file. */
  readonly text: string | null;
  /** The folder that it must be in. */
  readonly root: string;
};

/** @throws AppError input.bad: not a file that we may change */
export function openSettings(path: string, root: string): SettingsFile {
  return orExplain(`'${path}' cannot be read`, () => open(path, root));
}

function open(path: string, root: string): SettingsFile {
  const target = targetOf(path, root);
  if (target === null) return { path, target: path, text: null, root };
  if (!statSync(target).isFile()) throw new AppError('input.bad', `'${path}' is not a file`);
  const bytes = readFileSync(target);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes))
    throw new AppError('input.bad', `'${path}' is not UTF-8 text; nothing was changed`);
  return { path, target, text, root };
}

/** `text` null: the file is removed. If somebody else has written to it since it was read, nothing is changed. */
export function writeSettings(file: SettingsFile, text: string | null): void {
  if (readText(file.target) !== file.text)
    throw new AppError('input.bad', `'${file.path}' was changed by somebody else in the meantime; try again`);
  orExplain(`'${file.path}' cannot be written`, () => replace(file, text));
}

function replace(file: SettingsFile, text: string | null): void {
  const mode = file.text === null ? 0o644 : statSync(file.target).mode & 0o777;
  // The folder's mode would allow to replace it, but its owner wants it to stay as it is.
  if ((mode & 0o222) === 0) throw new AppError('input.bad', `'${file.path}' is read-only; nothing was changed`);
  if (text === null) {
    rmSync(file.target);
    removeEmpty(dirname(file.target), realpathSync(file.root));
    return;
  }
  mkdirSync(dirname(file.target), { recursive: true });
  const draft = `${file.target}.${randomUUID()}.tmp`;
  try {
    writeFileSync(draft, text, { mode, flag: 'wx' });
    renameSync(draft, file.target);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The folders that were made for a file go with it, unless something else is in them. */
function removeEmpty(folder: string, root: string): void {
  if (folder === root || folder === dirname(folder)) return;
  try {
    rmdirSync(folder);
  } catch {
    return; // it is not empty, or must stay
  }
  removeEmpty(dirname(folder), root);
}

/** Explains in one line that a folder is in the file's place, a file in the folder's, or a permission is missing. */
function orExplain<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('input.bad', `${what}: ${describeSystemError(error)}; nothing was changed`, { cause: error });
  }
}

/** Returns null if there is no such file. The text is for reading only, so links may lead anywhere. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Links, of the file or of its folders, may only lead inside `root`: a repository could make one that leads anywhere. */
function targetOf(path: string, root: string): string | null {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
    const folder = nearest(dirname(path));
    refuseOutside(path, realpathSync(folder), root);
    return null;
  }
  let target: string;
  try {
    target = realpathSync(path);
  } catch (cause) {
    throw new AppError('input.bad', `'${path}' is a broken link; nothing was changed`, { cause });
  }
  refuseOutside(path, target, root);
  return target;
}

function refuseOutside(path: string, target: string, root: string): void {
  const way = relative(realpathSync(nearest(root)), target);
  if (way !== '..' && !way.startsWith('../') && !isAbsolute(way)) return;
  throw new AppError(
    'input.bad',
    `'${path}' is a link to '${target}', outside of '${root}'; change that file yourself`,
  );
}

function nearest(folder: string): string {
  return lstatSync(folder, { throwIfNoEntry: false }) === undefined && folder !== dirname(folder)
    ? nearest(dirname(folder))
    : folder;
}

// A change of one file, planned before anything is touched.

/** `after` null: the file is removed, or not created. */
export type Change = { readonly file: SettingsFile; readonly after: string | null };

/** @throws AppError input.bad: where `edit` finds a SyntaxProblem */
export function planEdit(file: SettingsFile, edit: (text: string | null) => string | null): Change {
  try {
    return { file, after: edit(file.text) };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { line, column } = positionOf(file.text ?? '', error.offset);
    throw new AppError('input.bad', `${file.path}:${line}:${column}: ${error.message}; nothing was changed`);
  }
}

// The difference of two texts, for a person: changed lines with a little context.

/** `…`: lines that are the same are left out. */
type ShownLine = DiffLine | { readonly sign: '…'; readonly text: '' };

const around = 2;

export function diffTexts(before: string, after: string): ShownLine[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[],
  ];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = diffLines(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }));
  return shorten([...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))]);
}

function shorten(lines: readonly DiffLine[]): ShownLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, index): ShownLine[] => {
    if (isNear[index]) return [line];
    return isNear[index - 1] && isNear.includes(true, index) ? [{ sign: '…', text: '' }] : [];
  });
}
