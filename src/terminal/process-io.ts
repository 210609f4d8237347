/**
 * Gives a command the parts of the process that it uses: its streams, its terminal and Ctrl-C. Tests provide their own.
 */
import { fstatSync, writeFileSync } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { AppError } from '../errors.ts';

export type Io = {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Tells whether stdout is a terminal: then there are colours, and lines are cut to its width. */
  readonly isTTY: boolean;
  /** The terminal's current size; used only if `isTTY`. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /**
   * Fires at Ctrl-C and SIGTERM. A command that has something to put in order calls it once at its start; as long as
   * nobody has called it, those signals end the process as they always do.
   */
  readonly interrupt: () => AbortSignal;
};

/** @throws AppError input.bad: it was removed, and nothing that is named relative to it can be found */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AppError('input.bad', 'the current folder does not exist any more: change to one that does (cd)', {
      cause,
    });
  }
}

/** Node's own stream for a file ignores that a disk which fills up took only a part of the text. */
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

/** npm forwards the Ctrl-C that the terminal sends to all processes: two within this time count as one. */
const doubledMs = 500;

/** The real process. A second Ctrl-C forces the end of a command, as a signal would; `exit` handlers still run. */
export function processIo(env: Io['env']): Io {
  return {
    stdout: openStdout(),
    stderr: process.stderr,
    get stdin() {
      return process.stdin; // Accessing it opens it, so only a reader may.
    },
    env,
    get cwd() {
      return currentFolder(); // "help" needs none
    },
    isTTY: process.stdout.isTTY === true,
    // A terminal that does not know its size reports 0.
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
      for (const [signal, code] of [
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ] as const)
        process.on(signal, () => take(code));
      return controller.signal;
    },
  };
}
