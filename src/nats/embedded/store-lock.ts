/**
 * Allows one stopgate and one nats-server per store. A pid alone proves little: it is reused, in a container after
 * every restart. So the lock names the process by pid and start time, and a server is ended only if its command line
 * shows that it is ours.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../errors.ts';

/** `id`: no two locks are alike, not even of one process. */
const holderSchema = z.object({ pid: z.int().positive(), started: z.string().min(1), id: z.string() });
type Holder = z.infer<typeof holderSchema>;

/**
 * Locks the store for this process. The lock of a process that is gone is taken over.
 * @throws AppError config.bad: another stopgate, or this one, has it
 */
export async function lockStore(storeDir: string): Promise<{ release(): Promise<void> }> {
  const file = join(storeDir, 'lock');
  await acquire(file, storeDir);
  return { release: () => rm(file, { force: true }) };
}

/**
 * Links or renames a file that is complete, so half a lock is never seen. Replacing a stale lock takes another lock,
 * named after the stale one: else two processes that start together could each replace the lock of the other.
 */
async function acquire(file: string, storeDir: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  const holder: Holder = { pid: process.pid, started: startOf(process.pid) ?? 'unknown', id: randomUUID() };
  await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
  try {
    while (!(await succeeds(link(draft, file), 'EEXIST'))) {
      const found = await readText(file);
      if (found === undefined) continue; // released meanwhile
      refuseIfHeld(found, storeDir);
      const claim = `${file}.${createHash('sha256').update(found).digest('hex').slice(0, 16)}`;
      await acquire(claim, storeDir);
      try {
        if ((await readText(file)) === found) return await rename(draft, file);
      } finally {
        await rm(claim, { force: true });
      }
    }
  } finally {
    await rm(draft, { force: true });
  }
}

function refuseIfHeld(text: string, storeDir: string): void {
  const holder = parse(text);
  if (holder === undefined || startOf(holder.pid) !== holder.started) return;
  throw new AppError(
    'config.bad',
    `another stopgate (process ${holder.pid}) runs its nats-server in '${storeDir}'; stop it, or use another folder with --store`,
  );
}

function parse(text: string): Holder | undefined {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return undefined; // half a lock is never written: not ours, or the disk was full
  }
}

/**
 * Ends the nats-server that a stopgate left behind when it was killed.
 * @param serverArgs the arguments that only a server on this store has
 * @returns its pid, or undefined where none ran
 * @throws AppError config.bad: it does not end
 */
export async function endLeftServer(pidFile: string, serverArgs: readonly string[]): Promise<number | undefined> {
  const pid = Number(await readText(pidFile));
  if (!Number.isInteger(pid) || pid <= 1 || !runsWith(pid, serverArgs)) return undefined;
  const started = startOf(pid);
  const gone = () => startOf(pid) !== started;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw notEnded(pid, cause);
    }
    if (await becomesTrue(gone, endTimeoutMs)) return pid;
  }
  throw notEnded(pid, undefined);
}

const endTimeoutMs = 3_000;
const pollEveryMs = 20; // it is not our child, so its end is no event here

async function becomesTrue(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const until = performance.now() + timeoutMs; performance.now() < until; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
  }
  return condition();
}

const notEnded = (pid: number, cause: unknown) =>
  new AppError('config.bad', `an earlier nats-server (process ${pid}) still runs on this store and does not end`, {
    cause,
  });

/** When a process began, in the format of the system; undefined: there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): the name, in brackets, may hold anything; state is field 3, start (in ticks since boot) field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${fields[19]} ${bootId()}`;
  } catch {
    return hasProc ? undefined : readFromPs('lstart', pid);
  }
}

const runsWith = (pid: number, args: readonly string[]): boolean => {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1);
    return line.join('\0') === args.join('\0');
  } catch {
    return !hasProc && (readFromPs('args', pid)?.endsWith(` ${args.join(' ')}`) ?? false);
  }
};

const hasProc = process.platform === 'linux';
/** Ticks are counted from the boot. */
const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();

function readFromPs(column: 'lstart' | 'args', pid: number): string | undefined {
  try {
    const args = ['-ww', '-o', `${column}=`, '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || undefined;
  } catch {
    return undefined; // the exit code of `ps`: there is no such process
  }
}

async function readText(file: string): Promise<string | undefined> {
  let text: string | undefined;
  await succeeds(
    readFile(file, 'utf8').then((read) => {
      text = read;
    }),
    'ENOENT',
  );
  return text;
}

/** False if it failed for this reason; other failures are thrown. */
async function succeeds(work: Promise<unknown>, failure: string): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === failure) return false;
    throw cause;
  }
}

// Whether a store may be taken over: the one who made it may have put anything into it, such as passwords that they know,
// links to files of ours, or a log of their own; root would believe all of it.

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
