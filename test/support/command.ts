/**
 * Runs a `stopgate` command in this process, with its own streams, folder, environment and Ctrl-C. Behaviour that only
 * a real process has (signals, loaded modules, exit) is tested once per command with `shipped.ts`.
 */
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { createServices } from '../../src/app/services.ts';
import { runCli } from '../../src/cli/cli.ts';
import type { Services } from '../../src/cli/command.ts';
import type { Config } from '../../src/config/config.ts';
import { readVariable } from '../../src/config/environment.ts';
import type { HookWaits } from '../../src/hook-command/options.ts';
import { runHook } from '../../src/hook-command/run.ts';
import type { Io } from '../../src/terminal/process-io.ts';
import { unclosed } from './unclosed.ts';

export type CommandOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Text for stdin. Default: empty. */
  readonly stdin?: string | Readable;
  /** Called with each chunk of stdout. */
  readonly onStdout?: (text: string) => void;
  /** Options for `hook`. */
  readonly waits?: Partial<HookWaits>;
};
export type Command = {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when a stream contains this text. @throws Error if the command ends without printing it */
  printed(text: string | RegExp): Promise<void>;
  /** Resolves to the exit code, or null after a signal, when both streams are complete. */
  readonly ended: Promise<number | null>;
  /** Ends the command like `signal` would, and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
};
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
export type StartCommand = (args: readonly string[], options: CommandOptions) => Command;

const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** The folder of the tests' nats-server, which nats-path.ts puts first on PATH. */
const serverFolder = readVariable('PATH')
  ?.split(delimiter)
  .find((folder) => existsSync(join(folder, 'nats-server')));
/** Set if the tests use an old nats-server, because stopgate would prefer a current one on this machine. */
const serverFile = readVariable('STOPGATE_NATS_SERVER');
const path = [...new Set([serverFolder ?? systemFolders[0], ...systemFolders])].join(delimiter);

/** The environment for `main.ts`, with nothing of the tests in PATH except nats-server. */
export const cleanEnv = (cwd: string): Record<string, string> => ({
  PATH: path,
  HOME: cwd,
  ...(serverFile === undefined ? {} : { STOPGATE_NATS_SERVER: serverFile }),
});

const { dev, runner, serve } = createServices(({ stderr }) => stderr);
/** A short polling interval, so that a changed stopgate.yaml is read soon. */
const hasty = (config: Config): Config => ({ ...config, fileIntervalMs: 20 });
const services: Services = {
  dev: (config, ...rest) => dev(hasty(config), ...rest),
  runner: (config, ...rest) => runner(hasty(config), ...rest),
  serve: (config, ...rest) => serve(hasty(config), ...rest),
};

export const startCommand: StartCommand = (args, { cwd, env = {}, stdin = '', waits, onStdout }) => {
  const interrupt = new AbortController();
  const streams = keepStreams(onStdout);
  const io: Io = {
    cwd,
    env: { ...cleanEnv(cwd), ...env },
    stdout: streams.open('stdout'),
    stderr: streams.open('stderr'),
    stdin: typeof stdin === 'string' ? Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]) : stdin,
    isTTY: false,
    size: () => ({ columns: 80, rows: 24 }),
    interrupt: () => interrupt.signal,
  };
  const [name, ...rest] = args;
  const isHook = name === 'hook' && !rest.includes('--help') && !rest.includes('-h'); // the fast path of main.ts
  const line = `stopgate ${args.join(' ')}, in ${cwd}`;
  unclosed.add(line);
  const ended = (isHook ? runHook(rest, { ...io, ...(waits && { waits }) }) : runCli(args, io, services)).finally(
    () => {
      unclosed.delete(line);
      streams.end();
    },
  );
  return {
    pid: process.pid,
    stdout: () => streams.texts.stdout,
    stderr: () => streams.texts.stderr,
    printed: streams.printed,
    ended,
    async kill(signal = 'SIGTERM') {
      if (signal !== 'SIGTERM' && signal !== 'SIGINT') throw new Error(`${signal} is for a process: see shipped.ts`);
      interrupt.abort();
      return ended;
    },
  };
};

/** Runs a command to its end. */
export async function runCommand(
  args: readonly string[],
  options: CommandOptions,
  start: StartCommand = startCommand,
): Promise<Ended> {
  const command = start(args, options);
  const code = await command.ended;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

/** Collects a command's output and waits for texts in it. */
export function keepStreams(onStdout: (text: string) => void = () => undefined) {
  const changes = new EventEmitter().setMaxListeners(0);
  const texts = { stdout: '', stderr: '' };
  let hasEnded = false;
  const holds = (text: string | RegExp) =>
    Object.values(texts).some((it) => (typeof text === 'string' ? it.includes(text) : text.test(it)));
  const add = (name: keyof typeof texts, text: string) => {
    texts[name] += text;
    if (name === 'stdout') onStdout(text);
    changes.emit('change');
  };
  return {
    texts,
    add,
    open: (name: keyof typeof texts) =>
      new Writable({
        decodeStrings: false,
        write(chunk: string | Buffer, _encoding, done) {
          add(name, chunk.toString());
          done();
        },
      }),
    end() {
      hasEnded = true;
      changes.emit('change');
    },
    async printed(text: string | RegExp) {
      while (!holds(text)) {
        if (hasEnded) throw new Error(`it ended without having said ${text}:\n${texts.stdout}\n${texts.stderr}`);
        await once(changes, 'change');
      }
    },
  };
}
