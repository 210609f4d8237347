/** Plays the demo: stopgate at work for half a minute, in a temporary folder, with every answer checked. */
import { AssertionError } from 'node:assert/strict';
import { AppError } from '../errors.ts';
import type { Output } from '../terminal/output.ts';
import { sleep } from '../timer.ts';
import { createNarrator } from './narrator.ts';
import { playAll } from './scenes.ts';
import { openStage } from './stage.ts';

export type DemoOptions = {
  readonly out: Output;
  /** Omits the pauses for reading. */
  readonly fast: boolean;
  readonly signal: AbortSignal;
  /** Rewrites commands as this user has to type them. */
  readonly asTyped: (text: string) => string;
};

/**
 * Removes everything that it created.
 * @returns false if it was interrupted
 * @throws AppError check.failed if an answer was not as expected
 */
export async function playDemo({ out, fast, signal, asTyped }: DemoOptions): Promise<boolean> {
  try {
    const stage = await openStage({ http: '127.0.0.1:0' });
    try {
      await unlessAborted(signal, playAll(stage, createNarrator(out, { fast, signal }), asTyped));
    } finally {
      await stage.close();
    }
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    if (!(error instanceof AssertionError)) throw error;
    throw new AppError('check.failed', `not as expected: ${error.message}`, { cause: error });
  }
}

/** Abandons the work when the signal fires. It fails soon afterwards, when its connection is closed. */
function unlessAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  return Promise.race([work, sleep(null, signal).then(() => signal.throwIfAborted())]);
}
