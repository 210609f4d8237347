/** What a command touches of the process: its streams, its terminal and Ctrl-C. Tests hand in their own. */
import type { Readable, Writable } from 'node:stream';

export type Io = {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stdout is a terminal: then there are colours, and lines are cut to its width. */
  readonly isTTY: boolean;
  /** The terminal's size now; asked only where `isTTY`. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /**
   * Fires at Ctrl-C and SIGTERM. A command that has something to put in order calls it once at its start; as long as
   * nobody has called it, those signals end the process as they always do.
   */
  readonly interrupt: () => AbortSignal;
};

/** npm hands on the Ctrl-C that the terminal has sent to all: twice within this time is once. */
const doubledMs = 500;

/** The real process. A second Ctrl-C ends a command that does not end, as a signal would; `exit` handlers still run. */
export function processIo(env: Io['env']): Io {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    get stdin() {
      return process.stdin; // Touching it opens it, so only who reads it may.
    },
    env,
    cwd: process.cwd(),
    isTTY: process.stdout.isTTY === true,
    // A terminal that does not know its size says 0.
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
