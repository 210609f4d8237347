/** Runs `stopgate` in this process as a terminal would, records its output, and can press Ctrl-C. */
import { EventEmitter, once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { createServices } from '../../src/app/services.ts';
import { runCli } from '../../src/cli/cli.ts';
import { runHook } from '../../src/hook-command/run.ts';
import type { Answer, Call } from './shell.ts';

export type Program = {
  /** Resolves after the first line on stdout, or when the program ends. */
  readonly spoke: Promise<unknown>;
  readonly stdout: () => string;
  readonly ended: Promise<Answer>;
  interrupt(): void;
};

/** Commands that run until Ctrl-C. The reader leaves them running in another terminal. */
export const isService = (name: string): boolean => ['dev', 'serve', 'runner'].includes(name);
/** Commands that print until Ctrl-C. */
export const isEndless = ([name, ...rest]: readonly string[]): boolean => name === 'tail' || rest.includes('--watch');
/** Commands that ask on a terminal before they change something. */
const isAsked = ([name = '', ...rest]: readonly string[]): boolean =>
  ['init', 'ack', 'resolve', 'retire', 'answer', 'pause', 'unpause'].includes(name) && !rest.includes('--yes');

const services = createServices();

/** @param argv without `stopgate`. A question is answered with yes. */
export function startProgram(argv: readonly string[], { cwd, env, stdin }: Call): Program {
  const { streams, texts, spoke } = openOutput();
  const controller = new AbortController();
  const asked = isAsked(argv);
  const typed = new PassThrough();
  // One answer per question.
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

/** Runs `stopgate hook …`, which is a separate program. */
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
