/**
 * `npm run demo`: shows stopgate at work for half a minute, and checks that it works on this machine. `--fast` omits
 * the pauses. Exit code 0: all answers were as expected; 1: one was not, and is printed; 2: bad usage; 130:
 * interrupted.
 */
import { AssertionError } from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { readEnvironment } from '../config/environment.ts';
import { AppError } from '../errors.ts';
import { createOutput } from '../terminal/output.ts';
import { processIo } from '../terminal/process-io.ts';
import { cleanLines } from '../terminal/text.ts';
import { sleep } from '../timer.ts';
import { createNarrator } from './narrator.ts';
import { playAll } from './scenes.ts';
import { openStage } from './stage.ts';

const interrupted = 130;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const fast = readFast(argv);
  if (fast === null) {
    process.stderr.write('usage: npm run demo [-- --fast]    --fast: omit the pauses for reading\n');
    return 2;
  }
  const stop = new AbortController();
  // Keep the listeners: Ctrl-C arrives twice, from the terminal and from npm, and must not interrupt the cleanup.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  const out = createOutput(processIo(readEnvironment()));
  const signal = AbortSignal.any([stop.signal, out.closed]);
  try {
    const stage = await openStage({ http: '127.0.0.1:0' });
    try {
      await unlessAborted(signal, playAll(stage, createNarrator(out, { fast, signal })));
    } finally {
      await stage.close();
    }
    return 0;
  } catch (error) {
    if (signal.aborted) return interrupted;
    if (!(error instanceof AssertionError || error instanceof AppError)) throw error;
    process.stderr.write(`\nnot as expected: ${cleanLines(error.message).join('\n')}\n`);
    return 1;
  }
}

function readFast(argv: readonly string[]): boolean | null {
  try {
    return parseArgs({ args: [...argv], options: { fast: { type: 'boolean', default: false } } }).values.fast;
  } catch {
    return null;
  }
}

/** Abandons the work when the signal fires. It fails soon afterwards, when its connection is closed. */
function unlessAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  return Promise.race([work, sleep(null, signal).then(() => signal.throwIfAborted())]);
}
