/** The parts of the process that a command uses: streams, terminal and Ctrl-C. Tests provide their own. */
import { fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { AppError } from '../errors.ts';

export type Io = {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stdout is a terminal. If it is, there are colors, and lines are cut to its width. */
  readonly isTTY: boolean;
  /** Current size of the terminal. Used only if `isTTY`. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /**
   * Fires at Ctrl-C, SIGTERM and when the terminal is closed (SIGHUP). A command that needs to clean up calls it once
   * at its start. Otherwise these signals end the process as usual.
   */
  readonly interrupt: () => AbortSignal;
};

/** @throws AppError input.bad if the folder was removed */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AppError('input.bad', 'the current folder no longer exists; change to another one (cd)', {
      cause,
    });
  }
}

/** Node's own stream for a file does not notice when a full disk takes only a part of the text. */
function openStdout(): Writable {
  const { stdout } = process;
  if (!fstatSync(stdout.fd).isFile()) return stdout;
  return new Writable({
    write(chunk, _encoding, done) {
      try {
        writeFileSync(stdout.fd, chunk);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

/** npm forwards the Ctrl-C that the terminal already sends to all processes. Two within this time count as one. */
const doubledMs = 500;

/**
 * Whether `nohup` started us. A handler would replace its setting, and closing the terminal would end the process.
 * Without /proc, returns whether no stream is a terminal, as under `nohup`.
 */
function ignoresHangup(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${ignored}`) & 1n) === 1n; // SIGHUP is signal 1
  } catch {
    return ![0, 1, 2].some((fd) => isatty(fd));
  }
}

/**
 * Ends as the closed terminal asked, once everything is closed. Node 20 resets its terminal at the exit, and aborts if
 * that is gone: the desktop would report a crash.
 */
function endByHangup(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

/** Returns the parts of the real process. A second Ctrl-C exits at once; `exit` handlers still run. */
export function processIo(env: Io['env']): Io {
  return {
    stdout: openStdout(),
    stderr: process.stderr,
    get stdin() {
      return process.stdin; // opened on access, so only readers may access it
    },
    env,
    get cwd() {
      return currentFolder(); // on demand, since "help" needs no folder
    },
    isTTY: process.stdout.isTTY === true,
    // Terminals of unknown size report 0.
    size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
    interrupt() {
      const controller = new AbortController();
      let sinceMs = 0;
      const take = (code: number) => {
        if (!controller.signal.aborted) {
          sinceMs = performance.now();
          controller.abort();
        } else if (performance.now() - sinceMs > doubledMs) process.exit(code);
      };
      const isTerminal = [0, 1, 2].some((fd) => isatty(fd));
      for (const [signal, code] of [
        ['SIGINT', 130],
        ['SIGTERM', 143],
        ['SIGHUP', 129],
      ] as const)
        if (signal !== 'SIGHUP' || !ignoresHangup()) process.on(signal, () => take(code));
      if (isTerminal && !ignoresHangup()) process.once('SIGHUP', () => process.once('exit', endByHangup));
      return controller.signal;
    },
  };
}
