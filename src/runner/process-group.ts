/**
 * One program in a process group of its own, so that it ends with all that it started. POSIX only.
 *
 * 1. The group ends when its leader exits, when its time is up, or when it is cancelled.
 * 2. Then what is left of it gets SIGTERM, and SIGKILL if that was not enough.
 * 3. Then its pipes are read to their end, for a short time.
 *
 * A process that leaves the group (setsid, as daemons do) is out of reach. All it keeps is a pipe that nobody reads.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/environment.ts';
import { AppError } from '../errors.ts';
import { type Interruption, type InterruptionCause, within } from '../timer.ts';

export type GroupSpec = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** The text for the program's stdin; default: none. */
  readonly input?: string;
  /** For a program that is talked to: gets its stdin, which stays open, and its stdout, of which `onOutput` hears nothing. */
  readonly converse?: (stdin: Writable, stdout: Readable) => void;
  onOutput(stream: 'stdout' | 'stderr', chunk: Buffer): void;
};

/** `refused`: it never ran; `code`: of the system, as ENOENT. */
export type GroupEnd =
  | { readonly by: 'exit'; readonly code: number }
  | { readonly by: 'signal'; readonly signal: string }
  | { readonly by: 'refused'; readonly code: string }
  | { readonly by: InterruptionCause };

export type Group = {
  /** The group's id; null: it never ran. */
  readonly id: number | null;
  /** Resolves when nothing of it runs and `onOutput` has had all its output; at once if cancelled. Never rejects. */
  readonly ended: Promise<GroupEnd>;
  /** Resolves when nothing of it runs. False: something outlived SIGKILL, and we gave up. Never rejects. */
  readonly gone: Promise<boolean>;
};

type Step = { readonly signal: 'SIGTERM' | 'SIGKILL' | null; readonly waitMs: number };
const killing: readonly Step[] = [
  { signal: 'SIGTERM', waitMs: 500 },
  { signal: 'SIGKILL', waitMs: 1_000 }, // longer only where the kernel holds it, as on a dead network disk
];
/** Scripts often use `exec > >(tee log)`: tee needs a moment to write the end, and that is the feedback. */
const lingering: readonly Step[] = [{ signal: null, waitMs: 250 }, ...killing];
const drainMs = 500; // for a pipe that a process outside the group holds open

/** Never throws and never rejects: a program that cannot be started is `refused`. */
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
  // Without free descriptors (EMFILE) there are no pipes, although the types promise them.
  for (const stream of ['stdout', 'stderr'] as const) {
    if (stream === 'stderr' || converse === undefined)
      child[stream]?.on('data', (chunk: Buffer) => onOutput(stream, chunk));
    child[stream]?.on('error', () => {}); // a read error is no reason to crash
  }
  child.stdin?.on('error', () => {}); // it need not read
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

/** Returns false if there is no such group (any more). A null signal sends none, and only asks. */
export function signalGroup(id: number, signal: 'SIGTERM' | 'SIGKILL' | null): boolean {
  try {
    return process.kill(-id, signal ?? 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // EPERM: there, and not ours to end
  }
}

/** Kills the group if this process ends first: there is no time for SIGTERM then, and it would outlive us. @returns undoes it */
export function killAtExit({ id }: Group): () => void {
  const onExit = () => id !== null && signalGroup(id, 'SIGKILL');
  process.once('exit', onExit);
  return () => void process.off('exit', onExit);
}

const refusals: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such command',
  EACCES: 'it is not a program that you may run',
};

/** Says why a command could not be started. `more`: further codes that its caller can explain. */
export const cannotRun = (file: string, code: string, more: Readonly<Record<string, string>> = {}): AppError =>
  new AppError('input.bad', `cannot run '${file}': ${more[code] ?? refusals[code] ?? code}`);

async function endGroup(id: number, steps: readonly Step[]): Promise<boolean> {
  for (const { signal, waitMs } of steps) {
    if (signal !== null) signalGroup(id, signal);
    if (await endsWithin(id, waitMs)) return true;
  }
  return false;
}

/** The end of a group is no event, so it is polled, at growing intervals. */
async function endsWithin(id: number, waitMs: number): Promise<boolean> {
  const untilMs = performance.now() + waitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    if (!signalGroup(id, null)) return true;
    if (await isDead(id)) {
      signalGroup(id, 'SIGKILL'); // the list is no snapshot: this ends what forked while it was read
      return true;
    }
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

/**
 * Are there only zombies left? Under a PID 1 that reaps late or never (a container without an init) they stay in their
 * group. Only Linux can tell (proc(5), `/proc/<pid>/stat`); elsewhere false.
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

// What programs get of our environment: the variables that say where things are, and none that may hold a secret. The
// service's environment has tokens, passwords of databases and keys of models, and an agent often wrote what is run.

/** Enough for compilers, package managers and test runners to find themselves, their caches and their locale. */
export const basicVariables: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'TZ',
  'TMPDIR',
  'LANG',
  'LANGUAGE',
  'LC_ALL',
  'LC_CTYPE',
  'LC_COLLATE',
  'LC_MESSAGES',
  'LC_NUMERIC',
  'LC_TIME',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_RUNTIME_DIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** Returns the variables of `names` that are set. */
export function pickVariables(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [name, env[name]]).filter((it): it is [string, string] => typeof it[1] === 'string'),
  );
}
