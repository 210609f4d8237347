/**
 * Runs a program in its own process group, so that it can be stopped together with everything it started. POSIX only.
 *
 * 1. The run ends when the leader exits, on timeout, or when it is cancelled.
 * 2. Remaining processes of the group get SIGTERM, then SIGKILL.
 * 3. The pipes are drained for a short time.
 *
 * A process that leaves the group (setsid, as daemons do) is out of reach. All it keeps is a pipe that nobody reads.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { type Interruption, type InterruptionCause, within } from '../timer.ts';

export type GroupSpec = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Text for the program's stdin. Default: no stdin. */
  readonly input?: string;
  /** For interactive programs: receives stdin, which stays open, and stdout, which then bypasses `onOutput`. */
  readonly converse?: (stdin: Writable, stdout: Readable) => void;
  onOutput(stream: 'stdout' | 'stderr', chunk: Buffer): void;
};

/** `refused`: the program could not be started; `code` is the system's, such as ENOENT. */
export type GroupEnd =
  | { readonly by: 'exit'; readonly code: number }
  | { readonly by: 'signal'; readonly signal: string }
  | { readonly by: 'refused'; readonly code: string }
  | { readonly by: InterruptionCause };

export type Group = {
  /** The process group id, or null if the program could not be started. */
  readonly id: number | null;
  /** Resolves when no process is left and all output was passed on, or at once if cancelled. Never rejects. */
  readonly ended: Promise<GroupEnd>;
  /** Resolves to true when no process is left, or to false if one outlived SIGKILL. Never rejects. */
  readonly gone: Promise<boolean>;
};

type Step = { readonly signal: 'SIGTERM' | 'SIGKILL' | null; readonly waitMs: number };
const killing: readonly Step[] = [
  { signal: 'SIGTERM', waitMs: 500 },
  { signal: 'SIGKILL', waitMs: 1_000 }, // takes longer only if the kernel blocks it, as on a dead network disk
];
/** Waits first: scripts often use `exec > >(tee log)`, and tee needs a moment to write the last output. */
const lingering: readonly Step[] = [{ signal: null, waitMs: 250 }, ...killing];
const drainMs = 500; // in case a process outside the group holds a pipe open

/** Never throws. A program that cannot be started ends as `refused`. */
export function startGroup(spec: GroupSpec, stop: Interruption): Group {
  const { cwd, env, input, converse, onOutput } = spec;
  const [file, ...args] = spec.run;
  let child: ChildProcess;
  try {
    const stdio = [input === undefined && converse === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
    child = spawn(file, args, { cwd, env, shell: false, detached: true, stdio: [...stdio] });
  } catch (error) {
    return { id: null, ended: Promise.resolve(refusal(error)), gone: Promise.resolve(true) };
  }
  // If file descriptors run out (EMFILE), the pipes are missing, contrary to the types.
  for (const stream of ['stdout', 'stderr'] as const) {
    if (stream === 'stderr' || converse === undefined)
      child[stream]?.on('data', (chunk: Buffer) => onOutput(stream, chunk));
    child[stream]?.on('error', () => {}); // a read error must not crash this process
  }
  child.stdin?.on('error', () => {}); // the program may not read its stdin
  if (converse === undefined) child.stdin?.end(input);
  else if (child.stdin !== null && child.stdout !== null) converse(child.stdin, child.stdout);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const id = child.pid ?? null;
  const first = Promise.race([ownEnd(child), stop.happened.then((by): GroupEnd => ({ by }))]);
  const gone = first.then((end) => (id === null ? true : endGroup(id, end.by === 'exit' ? lingering : killing)));
  const drained = gone.then(() => drain(child, closed));
  const ended = first.then(async (end) => {
    if (end.by !== 'cancelled') await drained;
    return end;
  });
  return { id, ended, gone };
}

function ownEnd(child: ChildProcess): Promise<GroupEnd> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(refusal(error)));
    child.once('exit', (code, signal) => {
      resolve(code === null ? { by: 'signal', signal: signal ?? 'unknown' } : { by: 'exit', code });
    });
  });
}

const refusal = (error: unknown): GroupEnd => ({
  by: 'refused',
  code: (error as NodeJS.ErrnoException).code ?? 'unknown error',
});

async function drain(child: ChildProcess, closed: Promise<void>): Promise<void> {
  await within(drainMs, closed);
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/**
 * Signals a group. A null signal only checks whether it exists.
 * @returns false if the group does not exist
 */
export function signalGroup(id: number, signal: 'SIGTERM' | 'SIGKILL' | null): boolean {
  try {
    return process.kill(-id, signal ?? 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: it exists but is not ours
  }
}

/**
 * Sends SIGKILL to the group if this process exits first; there is no time for SIGTERM then.
 * @returns a function that undoes this
 */
export function killAtExit({ id }: Group): () => void {
  const onExit = () => id !== null && signalGroup(id, 'SIGKILL');
  process.once('exit', onExit);
  return () => void process.off('exit', onExit);
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such command',
  EACCES: 'it is not a program that you may run',
};

/** Creates an error that explains why a program could not be started. `more`: explanations for further error codes. */
export const cannotRun = (file: string, code: string, more: Readonly<Record<string, string>> = {}): AppError =>
  new AppError('input.bad', `cannot run '${file}': ${more[code] ?? refusals[code] ?? code}`);

async function endGroup(id: number, steps: readonly Step[]): Promise<boolean> {
  for (const { signal, waitMs } of steps) {
    if (signal !== null) signalGroup(id, signal);
    if (await endsWithin(id, waitMs)) return true;
  }
  return false;
}

/** Polls at growing intervals, because the end of a group emits no event. */
async function endsWithin(id: number, waitMs: number): Promise<boolean> {
  const untilMs = performance.now() + waitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    if (!signalGroup(id, null)) return true;
    if (await isDead(id)) {
      signalGroup(id, 'SIGKILL'); // reading /proc is not atomic: kill what forked in the meantime
      return true;
    }
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

/**
 * Tells whether only zombies are left in a group. Under a PID 1 that does not reap (a container without init) zombies
 * stay in their group. Works only on Linux (proc(5), `/proc/<pid>/stat`); returns false elsewhere.
 */
async function isDead(id: number): Promise<boolean> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')));
  const isRunning = (stat: string) => {
    // `pid (name) state ppid pgrp …`; a name may contain parentheses.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(group) === id && state !== 'Z' && state !== 'X';
  };
  return pids.length > 0 && !stats.some(isRunning);
}
