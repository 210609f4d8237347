/** A fake terminal for `runCli`: recorded streams, its own folder, and Ctrl-C. */
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import type { Services } from '../../src/cli/command.ts';
import type { Io } from '../../src/terminal/process-io.ts';

export type TerminalOptions = {
  readonly env?: Io['env'];
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly stdin?: string | Readable;
  readonly services?: Partial<Services>;
  readonly cwd?: string;
  /** Stdout fails after this many writes. */
  readonly writesMax?: number;
  /** Default: EPIPE, as behind `| head`. */
  readonly writeError?: string;
};

export type Terminal = {
  readonly io: Io;
  readonly cwd: string;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Runs a command line. @returns the exit code */
  readonly run: (...argv: string[]) => Promise<number>;
  /** Resolves when stdout contains `text`. */
  readonly printed: (text: string) => Promise<void>;
  readonly pressCtrlC: () => void;
};

/** Its folder is temporary and removed with the test. */
export async function openTerminal(options: TerminalOptions = {}): Promise<Terminal> {
  const {
    env = {},
    isTTY = false,
    columns = 80,
    rows = 24,
    stdin = '',
    writesMax = Number.POSITIVE_INFINITY,
    writeError = 'EPIPE',
  } = options;
  const cwd = options.cwd ?? (await mkdtemp(join(tmpdir(), 'stopgate-cli-')));
  if (options.cwd === undefined) onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const texts = { stdout: '', stderr: '' };
  const changes = new EventEmitter().setMaxListeners(0);
  let writes = 0;
  const capture = (name: keyof typeof texts) =>
    new Writable({
      decodeStrings: false,
      write(chunk: string, _encoding, done) {
        writes += name === 'stdout' ? 1 : 0;
        if (name === 'stdout' && writes > writesMax) {
          done(Object.assign(new Error(`write ${writeError}`), { code: writeError }));
          return;
        }
        texts[name] += chunk;
        changes.emit('change');
        done();
      },
    });
  const interrupt = new AbortController();
  const io: Io = {
    stdout: capture('stdout'),
    stderr: capture('stderr'),
    stdin: typeof stdin === 'string' ? Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]) : stdin,
    env,
    cwd,
    isTTY,
    size: () => ({ columns, rows }),
    interrupt: () => interrupt.signal,
  };
  const nobody = async () => Promise.reject(new Error('no service was expected to be started'));
  return {
    io,
    cwd,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    run: (...argv) => runCli(argv, io, { serve: nobody, dev: nobody, runner: nobody, ...options.services }),
    async printed(text) {
      while (!texts.stdout.includes(text)) await once(changes, 'change');
    },
    pressCtrlC: () => interrupt.abort(),
  };
}

/** Runs a command line to its end. */
export async function runOnce(argv: readonly string[], options: TerminalOptions = {}) {
  const terminal = await openTerminal(options);
  const code = await terminal.run(...argv);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Matches terminal control characters, which must never come from an agent. Line breaks are ours. */
export const controlsIn = (text: string): string[] => text.replaceAll('\n', '').match(/[\p{Cc}\u202a-\u202e]/gu) ?? [];
