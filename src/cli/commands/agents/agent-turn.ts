/** Runs one turn of an agent that is a command, and keeps the end of its output. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { findProgram } from '../../../agents/setup/local-context.ts';
import { AppError, errorCodes } from '../../../errors.ts';
import { cannotRun, type GroupEnd, type GroupSpec, killAtExit, startGroup } from '../../../runner/process-group.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { createInterruption, sleep } from '../../../timer.ts';

type TurnSpec = Pick<GroupSpec, 'run' | 'cwd' | 'env' | 'onOutput'> & {
  /** Sent to the command's stdin. */
  readonly input: string;
};
/** `output` is the last 32 KiB of the command's stdout. */
export type Turn = { readonly end: GroupEnd; readonly output: string };

/** Maximum output of an attempt (protocol.md §5). */
const outputBytesMax = 32_768;

/** Runs a command until it exits. `signal` kills it and everything it started. Never rejects. */
export async function runTurn({ onOutput, ...spec }: TurnSpec, signal: AbortSignal): Promise<Turn> {
  let kept: Buffer = Buffer.alloc(0);
  const stop = createInterruption(Number.POSITIVE_INFINITY, signal);
  const group = startGroup(
    {
      ...spec,
      onOutput: (stream, chunk) => {
        onOutput(stream, chunk);
        if (stream === 'stdout') kept = Buffer.concat([kept, chunk]).subarray(-outputBytesMax);
      },
    },
    stop,
  );
  // A second Ctrl-C exits at once, and must kill the command too.
  const cancelKill = killAtExit(group);
  const end = await group.ended;
  await group.gone;
  cancelKill();
  stop.clear();
  return { end, output: new TextDecoder().decode(kept).replace(/^\ufffd+/, '') };
}

/** Call it before anything else is started or registered. @throws AppError input.bad if there is no such program */
export function refuseUnknownProgram(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): void {
  const isFound = file.includes('/') ? existsSync(resolve(cwd, file)) : file !== '' && findProgram(file, env) !== null;
  if (!isFound) throw cannotRun(file, 'ENOENT');
}

/** Returns all variables of this process, for an agent started by the user's own command. */
export const environmentOf = ({ env }: Pick<Io, 'env'>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** How long to wait for a service that restarts. */
const awayMsMax = 60_000;
const retryMs = 1_000;

/**
 * Repeats a request while the service is unreachable, for up to a minute.
 * @throws AppError an error that a repeat cannot fix, or the last one
 */
export async function retryWhileAway<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
  onAway: (error: AppError) => void,
): Promise<Answer> {
  for (const untilMs = performance.now() + awayMsMax; ; ) {
    try {
      return await ask();
    } catch (error) {
      const isTemporary = error instanceof AppError && errorCodes[error.code].retry && !signal.aborted;
      if (!isTemporary || performance.now() > untilMs) throw error;
      onAway(error);
      await sleep(retryMs, signal);
    }
  }
}
