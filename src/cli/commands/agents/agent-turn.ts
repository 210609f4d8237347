/** One turn of an agent that is a command: it runs to its end, and the end of its output is kept. */
import { AppError, errorCodes } from '../../../errors.ts';
import { type GroupEnd, type GroupSpec, killAtExit, startGroup } from '../../../runner/process-group.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { createInterruption, sleep } from '../../../timer.ts';

type TurnSpec = Pick<GroupSpec, 'run' | 'cwd' | 'env' | 'onOutput'> & {
  /** The text for the command's stdin. */
  readonly input: string;
};
/** `output`: the end of its stdout. */
export type Turn = { readonly end: GroupEnd; readonly output: string };

/** The output that an attempt can carry (protocol.md §5). */
const outputBytesMax = 32_768;

/** Ends with all that it started when `signal` fires. Never rejects. */
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
  // A second Ctrl-C ends us at once.
  const spare = killAtExit(group);
  const end = await group.ended;
  await group.gone;
  spare();
  stop.clear();
  return { end, output: new TextDecoder().decode(kept).replace(/^\ufffd+/, '') };
}

/** Returns all of our environment, for an agent that the user's own command starts. */
export const environmentOf = ({ env }: Pick<Io, 'env'>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((it): it is [string, string] => it[1] !== undefined));

/** A service that restarts is back in that time. */
const awayMsMax = 60_000;
const retryMs = 1_000;

/** Asks again as long as the service is away, for a minute. @throws AppError what it says for good */
export async function untilBack<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
  onAway: (error: AppError) => void,
): Promise<Answer> {
  for (const untilMs = performance.now() + awayMsMax; ; ) {
    try {
      return await ask();
    } catch (error) {
      const mayCome = error instanceof AppError && errorCodes[error.code].retry && !signal.aborted;
      if (!mayCome || performance.now() > untilMs) throw error;
      onAway(error);
      await sleep(retryMs, signal);
    }
  }
}
