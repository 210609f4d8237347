/** An agent's settings file: read, and replaced in one step, with its mode, and nowhere but where its owner thinks it is. */
import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, relative } from 'node:path';
import { AppError } from '../../errors.ts';

export type SettingsFile = {
  /** As the agent names it. */
  readonly path: string;
  /** Where it really lies. */
  readonly target: string;
  /** Null: there is none. */
  readonly text: string | null;
};

/** @throws AppError input.bad: no file that we may change */
export function openSettings(path: string, root: string): SettingsFile {
  return orSay(`'${path}' cannot be read`, () => open(path, root));
}

function open(path: string, root: string): SettingsFile {
  const target = targetOf(path, root);
  if (target === null) return { path, target: path, text: null };
  if (!statSync(target).isFile()) throw new AppError('input.bad', `'${path}' is no file`);
  const bytes = readFileSync(target);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes))
    throw new AppError('input.bad', `'${path}' is no UTF-8 text; nothing was changed`);
  return { path, target, text };
}

/** Null text: the file goes. What somebody else wrote since it was read is not lost: then nothing is changed. */
export function writeSettings(file: SettingsFile, text: string | null): void {
  if (readText(file.target) !== file.text)
    throw new AppError('input.bad', `'${file.path}' was changed by somebody else meanwhile; try again`);
  orSay(`'${file.path}' cannot be written`, () => replace(file, text));
}

function replace(file: SettingsFile, text: string | null): void {
  const mode = file.text === null ? 0o644 : statSync(file.target).mode & 0o777;
  // To replace it, the folder's mode would do: but its owner wants it to stay as it is.
  if ((mode & 0o222) === 0) throw new AppError('input.bad', `'${file.path}' is read-only; nothing was changed`);
  if (text === null) {
    rmSync(file.target);
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

/** A folder in the file's place, a file in the folder's, no right to it: said in one line. */
function orSay<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('input.bad', `${what}: ${(error as Error).message}; nothing was changed`, { cause: error });
  }
}

/** Null: there is none. Only to look at it, wherever it lies. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A link, of the file or of a folder on the way, may lead within `root` only: a repository could aim one anywhere. */
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
    throw new AppError('input.bad', `'${path}' is a link that leads nowhere; nothing was changed`, { cause });
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
