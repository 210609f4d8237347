/**
 * Says whether a store may be used. Whoever made it may have put anything into it, such as passwords that they know, links
 * to files of ours, or a log of their own; root would believe all of it.
 */
import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';

/** @throws AppError config.bad: another user owns the store or something in it, or may write there */
export function requireOwnStore(folder: string): void {
  const user = process.geteuid?.();
  if (user === undefined) return; // Windows has no such owners
  for (const path of [folder, ...readdirSync(folder).map((name) => join(folder, name))]) {
    const fault = faultOf(path, user);
    if (fault === null) continue;
    const mend = `use another folder with --store, or, if you trust what is in it: chown -R ${user} '${folder}' && chmod go-w '${folder}'`;
    throw new AppError('config.bad', `'${path}' ${fault}, so it cannot be the store of this service; ${mend}`);
  }
}

/** Returns the fault of a link or of where it leads; null if both are ours alone. */
function faultOf(path: string, user: number): string | null {
  const own = lstatSync(path, { throwIfNoEntry: false });
  if (own === undefined) return null; // it went meanwhile, as a lock does
  if (own.uid !== user) return `belongs to another user (${own.uid})`;
  if (!own.isSymbolicLink()) return isOpen(own) ? 'can be written by other users' : null;
  const target = statSync(path, { throwIfNoEntry: false });
  if (target === undefined) return 'is a link that leads nowhere';
  if (target.uid !== user) return `leads to what belongs to another user (${target.uid})`;
  return isOpen(target) ? 'leads to what other users can write' : null;
}

/** A group of one's own has no other members: many systems give one to each user. */
const isOpen = ({ mode, gid }: Stats): boolean =>
  (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getegid?.());
