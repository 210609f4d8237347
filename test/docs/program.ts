/** `stopgate` as a terminal runs it, in this process: its output is kept, Ctrl-C is at hand. */
import { EventEmitter, once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { createServices } from '../../src/app/services.ts';
import { runCli } from '../../src/cli/cli.ts';
import { runHook } from '../../src/hook-command/run.ts';
import type { Answer, Call } from './shell.ts';

export type Program = {
  /** Resolves at the end of the first line on stdout, or at the end. */
  readonly spoke: Promise<unknown>;
  readonly stdout: () => string;
  readonly ended: Promise<Answer>;
  interrupt(): void;
};

/** They run until Ctrl-C; the reader leaves them in a terminal of their own. */
export const isService = (name: string): boolean => ['dev', 'serve', 'runner'].includes(name);
/** They print until Ctrl-C. */
export const isEndless = ([name, ...rest]: readonly string[]): boolean => name === 'tail' || rest.includes('--watch');
/** They ask before they change something, where there is a terminal. */
const isAsked = ([name = '', ...rest]: readonly string[]): boolean =>
  ['init', 'ack', 'resolve', 'retire', 'answer', 'pause', 'unpause'].includes(name) && !rest.includes('--yes');

const services = createServices();

/** @param argv without `stopgate`. A question is answered with yes. */
export function startProgram(argv: readonly string[], { cwd, env, stdin }: Call): Program {
  const { streams, texts, spoke } = openOutput();
  const controller = new AbortController();
  const asked = isAsked(argv);
  const typed = new PassThrough();
  // As often as it asks.
  typed.end(asked ? 'y\n'.repeat(3) : stdin);
  const io = {
    ...streams,
    cwd,
    env,
    isTTY: asked,
    stdin: Object.assign(typed, { isTTY: asked }),
    size: () => ({ columns: 200, rows: 50 }),
    interrupt: () => controller.signal,
  };
  const ended = runCli(argv, io, services).then((code) => ({ code, ...texts }));
  return {
    ended,
    spoke: Promise.race([spoke, ended]),
    stdout: () => texts.stdout,
    interrupt: () => controller.abort(),
  };
}

/** `stopgate hook …`, which is a program of its own. */
export async function runHookCommand(argv: readonly string[], { cwd, env, stdin }: Call): Promise<Answer> {
  const { streams, texts } = openOutput();
  const code = await runHook(argv, {
    ...streams,
    cwd,
    env,
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
  });
  return { code, ...texts };
}

function openOutput() {
  const changes = new EventEmitter();
  const texts = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof texts) =>
    new Writable({
      decodeStrings: false,
      write(chunk: string, _encoding, done) {
        texts[name] += chunk;
        if (name === 'stdout' && texts.stdout.includes('\n')) changes.emit('spoke');
        done();
      },
    });
  return {
    streams: { stdout: capture('stdout'), stderr: capture('stderr') },
    texts,
    spoke: once(changes, 'spoke'),
  };
}
