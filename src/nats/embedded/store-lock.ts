/**
 * Allows one stopgate per store. The file `lock` identifies its holder by pid and start time, so the lock of a killed
 * process is replaced at once, and a suspended process keeps its lock (docs/decisions/016-our-own-store-lock.md).
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { startTimeOf } from './process-identity.ts';

/** `id` makes every lock unique, even within a process. */
const holderSchema = z.object({ pid: z.int().positive(), started: z.string().min(1), id: z.string() });
type Holder = z.infer<typeof holderSchema>;

/** Locks the store for this process. @throws AppError config.bad if it is locked, even by this process */
export async function lockStore(storeDir: string): Promise<{ release(): Promise<void> }> {
  const file = join(storeDir, 'lock');
  await acquire(file, storeDir);
  return { release: () => rm(file, { force: true }) };
}

/**
 * Links a complete file, so that nobody reads half a lock. To replace a stale lock, a process must first lock a file
 * named after the stale lock. Otherwise two processes that start together could each replace the other's new lock.
 */
async function acquire(file: string, storeDir: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  const holder: Holder = { pid: process.pid, started: startTimeOf(process.pid) ?? 'unknown', id: randomUUID() };
  await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
  try {
    while (!(await tryLink(draft, file))) {
      const found = await readLock(file);
      if (found === null) continue; // released in the meantime
      refuseIfHeld(found, storeDir);
      const claim = `${file}.${createHash('sha256').update(found).digest('hex').slice(0, 16)}`;
      await acquire(claim, storeDir);
      try {
        if ((await readLock(file)) === found) return await rename(draft, file);
      } finally {
        await rm(claim, { force: true });
      }
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** Returns false if the file exists. */
async function tryLink(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}

/** Returns the process that holds the lock of a store, or null. */
export async function holderOf(storeDir: string): Promise<number | null> {
  const holder = parseHolder((await readLock(join(storeDir, 'lock'))) ?? '');
  return holder !== null && startTimeOf(holder.pid) === holder.started ? holder.pid : null;
}

/** Returns null if there is no such file. */
async function readLock(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw cause;
  }
}

function refuseIfHeld(text: string, storeDir: string): void {
  const holder = parseHolder(text);
  if (holder === null || startTimeOf(holder.pid) !== holder.started) return;
  throw new AppError(
    'config.bad',
    `another stopgate (process ${holder.pid}) is using '${storeDir}' for its nats-server; stop it ("stopgate down" if "stopgate up" started it), or use another folder with --store`,
  );
}

/** Returns null if the text is not a lock, for example because the disk was full when it was written. */
function parseHolder(text: string): Holder | null {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
