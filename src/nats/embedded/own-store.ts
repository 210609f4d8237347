/**
 * Checks that nobody else could have written to a store. Another user could have planted passwords they know, links to
 * our files, or a forged log.
 */
import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';

/** @throws AppError config.bad if another user owns or can write to the store or something in it */
export function requireOwnStore(folder: string): void {
  const user = process.geteuid?.();
  if (user === undefined) return; // Windows has no user ids
  for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))]) {
    const fault = faultOf(path, user);
    if (fault === null) continue;
    const fix = `use another folder with --store, or, if you trust its contents: chown -R ${user} '${folder}' && chmod go-w '${folder}'`;
    throw new AppError('config.bad', `'${path}' ${fault}, so it cannot be the store of this service; ${fix}`);
  }
}

/** Describes the fault of a path or, for a symlink, of its target. Returns null if only this user can write to both. */
function faultOf(path: string, user: number): string | null {
  const own = lstatSync(path, { throwIfNoEntry: false });
  if (own === undefined) return null; // deleted in the meantime, like a lock
  if (own.uid !== user) return `belongs to another user (${own.uid})`;
  if (!own.isSymbolicLink()) return isOpen(own) ? 'can be written by other users' : null;
  const target = statSync(path, { throwIfNoEntry: false });
  if (target === undefined) return 'is a broken link';
  if (target.uid !== user) return `links to a file of another user (${target.uid})`;
  return isOpen(target) ? 'links to a file that other users can write' : null;
}

/** Tells whether others can write. Our own group is fine: on many systems it has no other members. */
const isOpen = ({ mode, gid }: Stats): boolean =>
  (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getegid?.());
