/** Background work: how long a stop waits for it, and what a stop does meanwhile (protocol.md §8, policy `background`). */
import { z } from 'zod';
import { durationSchema, type ObjectMaker } from '../values/schemas.ts';
import { formatIsoTime } from '../values/time.ts';
import { createWork, globSchema, textMatcher, type Work } from './glob.ts';

/** Work that continues without the agent. `kind` and `command` null: the agent did not say. */
export type BackgroundWork = {
  readonly id: string;
  readonly kind: string | null;
  readonly command: string | null;
  readonly sinceMs: number;
};

/** `maxMs` null: it is waited for without an end. `onStop` null: the policy does not say. */
export type BackgroundPolicy = {
  readonly maxMs: number | null;
  readonly ignore: readonly string[];
  readonly onStop: 'allow' | 'block' | null;
};

/** A build or a test suite is over by then; a server that runs on would be waited for without an end. */
const maxMsDefault = 3_600_000;
/** Each is matched against all work of a worker. */
const ignoreMax = 64;

export const createBackgroundForm = (object: ObjectMaker) =>
  object({
    max: durationSchema.nullable().optional().describe('how long a piece of work is waited for; null: without an end'),
    ignore: z
      .array(globSchema)
      .max(ignoreMax)
      .optional()
      .describe('globs of commands and kinds that are never waited for; * and ? match / too'),
    onStop: z
      .enum(['allow', 'block'])
      .optional()
      .describe('of a stop while work runs; default: allow, and block for a session without a person'),
  });
type BackgroundForm = z.infer<ReturnType<typeof createBackgroundForm>>;

export const normalizeBackground = ({ max, ignore, onStop }: BackgroundForm = {}): BackgroundPolicy => ({
  maxMs: max === undefined ? maxMsDefault : max,
  ignore: ignore ?? [],
  onStop: onStop ?? null,
});

/** Returns when the work is no longer waited for; null: never. */
const endOfWork = ({ sinceMs }: BackgroundWork, { maxMs }: BackgroundPolicy): number | null =>
  maxMs === null ? null : sinceMs + maxMs;

/**
 * Returns a test whether the policy ignores a piece of work. Work that cannot be matched within the steps of an
 * evaluation is not ignored.
 */
function ignores({ ignore }: BackgroundPolicy, work: Work = createWork()): (it: BackgroundWork) => boolean {
  const globs = ignore.map((glob) => textMatcher(glob, work));
  return ({ command, kind }) =>
    globs.some(
      (matches) => (command !== null && matches(command) === true) || (kind !== null && matches(kind) === true),
    );
}

/** The work that a stop at `nowMs` waits for, in the order in which it started. */
export function awaitedWork(
  background: readonly BackgroundWork[],
  policy: BackgroundPolicy,
  nowMs: number,
): readonly BackgroundWork[] {
  if (background.length === 0) return background;
  const isIgnored = ignores(policy);
  return background.filter((it) => {
    const endMs = endOfWork(it, policy);
    return (endMs === null || nowMs < endMs) && !isIgnored(it);
  });
}

/** The work as views show it. `until` null: it is waited for without an end. */
export type BackgroundView = {
  id: string;
  kind: string | null;
  command: string | null;
  since: string;
  until: string | null;
  ignored: boolean;
};

export function viewBackground(
  background: readonly BackgroundWork[],
  policy: BackgroundPolicy,
): readonly BackgroundView[] {
  if (background.length === 0) return noBackground;
  const isIgnored = ignores(policy);
  return background.map((work) => {
    const { id, kind, command, sinceMs } = work;
    const endMs = endOfWork(work, policy);
    const until = endMs === null ? null : formatIsoTime(endMs);
    return { id, kind, command, since: formatIsoTime(sinceMs), until, ignored: isIgnored(work) };
  });
}

const noBackground: readonly never[] = Object.freeze([]);
