/** Reads an agent's settings file and replaces it atomically, keeping its mode, and only inside its expected folder. */
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
  /** The path before links are resolved. */
  readonly path: string;
  /** The path with links resolved. */
  readonly target: string;
  /** Null if the file does not exist. */
  readonly text: string | null;
  /** The folder that must contain the file. */
  readonly root: string;
};

/** @throws AppError input.bad if this is not a file that we may change */
export function openSettings(path: string, root: string): SettingsFile {
  return explainErrors(`'${path}' cannot be read`, () => open(path, root));
}

function open(path: string, root: string): SettingsFile {
  const target = targetOf(path, root);
  if (target === null) return { path, target: path, text: null, root };
  if (!statSync(target).isFile()) throw new AppError('input.bad', `'${path}' is not a file; move it away first`);
  const bytes = readFileSync(target);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes))
    throw new AppError('input.bad', `'${path}' is not UTF-8 text; nothing was changed: convert it to UTF-8 first`);
  return { path, target, text, root };
}

/** @param text null removes the file. @throws AppError input.bad if the file was changed since it was read */
export function writeSettings(file: SettingsFile, text: string | null): void {
  if (readText(file.target) !== file.text)
    throw new AppError('input.bad', `'${file.path}' was changed by another program in the meantime; try again`);
  explainErrors(`'${file.path}' cannot be written`, () => replace(file, text));
}

function replace(file: SettingsFile, text: string | null): void {
  const mode = file.text === null ? 0o644 : statSync(file.target).mode & 0o777;
  // Renaming over a read-only file would succeed, but its owner does not want it changed.
  if ((mode & 0o222) === 0)
    throw new AppError('input.bad', `'${file.path}' is read-only; nothing was changed: make it writable first`);
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

/** Removes the folders that have become empty, up to the root. */
function removeEmpty(folder: string, root: string): void {
  if (folder === root || folder === dirname(folder)) return;
  try {
    rmdirSync(folder);
  } catch {
    return; // not empty, or not removable
  }
  removeEmpty(dirname(folder), root);
}

/** Converts file system errors, such as a missing permission, to an AppError with a one-line message. */
function explainErrors<T>(failure: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('input.bad', `${failure}: ${describeSystemError(error)}; nothing was changed`, { cause: error });
  }
}

/** Returns null if the file does not exist. Follows links anywhere, because nothing is written. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Resolves links of the file and its folders. They must stay inside `root`, because a repository may contain any link.
 */
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
  const route = relative(realpathSync(nearest(root)), target);
  if (route !== '..' && !route.startsWith('../') && !isAbsolute(route)) return;
  throw new AppError(
    'input.bad',
    `'${path}' is a link to '${target}', outside of '${root}'; change that file yourself`,
  );
}

/** The nearest existing folder. */
function nearest(folder: string): string {
  return lstatSync(folder, { throwIfNoEntry: false }) === undefined && folder !== dirname(folder)
    ? nearest(dirname(folder))
    : folder;
}

/** A planned change of one file. `after` is null if the file is removed or not created. */
export type Change = { readonly file: SettingsFile; readonly after: string | null };

/** @throws AppError input.bad if `edit` throws a SyntaxProblem, with file, line and column */
export function planEdit(file: SettingsFile, edit: (text: string | null) => string | null): Change {
  try {
    return { file, after: edit(file.text) };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const { line, column } = positionOf(file.text ?? '', error.offset);
    throw new AppError('input.bad', `${file.path}:${line}:${column}: ${error.message}; nothing was changed`);
  }
}

/** `…` stands for omitted lines without changes. */
type ShownLine = DiffLine | { readonly sign: '…'; readonly text: '' };

const contextLines = 2;

/** The changed lines between two texts, with some context, to show to a person. */
export function diffTexts(before: string, after: string): ShownLine[] {
  const oldLines = linesOf(before);
  const newLines = linesOf(after);
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail += 1;
  const middle = diffLines(oldLines.slice(head, oldLines.length - tail), newLines.slice(head, newLines.length - tail));
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }));
  return shorten([...same(oldLines.slice(0, head)), ...middle, ...same(oldLines.slice(oldLines.length - tail))]);
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function shorten(lines: readonly DiffLine[]): ShownLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - contextLines), index + contextLines + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, index): ShownLine[] => {
    if (isNear[index]) return [line];
    return isNear[index - 1] && isNear.includes(true, index) ? [{ sign: '…', text: '' }] : [];
  });
}
