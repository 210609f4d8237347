/**
 * Background work: how long a stop waits for it, and what a stop does meanwhile (protocol.md §8, policy `background`).
 */
import { z } from 'zod';
import { durationSchema, type ObjectMaker } from '../values/schemas.ts';
import { formatIsoTime } from '../values/time.ts';
import { createWork, globSchema, textMatcher, type Work } from './glob.ts';

/** Work that continues without the agent. `kind` and `command` are null if the agent did not report them. */
export type BackgroundWork = {
  readonly id: string;
  readonly kind: string | null;
  readonly command: string | null;
  readonly sinceMs: number;
};

/** `maxMs` is null if there is no time limit. `onStop` is null if the policy does not say. */
export type BackgroundPolicy = {
  readonly maxMs: number | null;
  readonly ignore: readonly string[];
  readonly onStop: 'allow' | 'block' | null;
};

/** Builds and test suites finish within this time. Without a limit, stops would wait forever for a server. */
const maxMsDefault = 3_600_000;
/** Limited because each is matched against all work of a worker. */
const ignoreMax = 64;

export const createBackgroundForm = (object: ObjectMaker) =>
  object({
    max: durationSchema
      .nullable()
      .optional()
      .describe('how long a stop waits for a piece of work; null: without a limit'),
    ignore: z
      .array(globSchema)
      .max(ignoreMax)
      .optional()
      .describe('globs of commands and kinds that stops never wait for; * and ? match / too'),
    onStop: z
      .enum(['allow', 'block'])
      .optional()
      .describe('what a stop does while work runs; default: allow, but block in a session without a person'),
  });
type BackgroundForm = z.infer<ReturnType<typeof createBackgroundForm>>;

export const normalizeBackground = ({ max, ignore, onStop }: BackgroundForm = {}): BackgroundPolicy => ({
  maxMs: max === undefined ? maxMsDefault : max,
  ignore: ignore ?? [],
  onStop: onStop ?? null,
});

/** Returns when stops no longer wait for the work; null if they always do. */
const endOfWork = ({ sinceMs }: BackgroundWork, { maxMs }: BackgroundPolicy): number | null =>
  maxMs === null ? null : sinceMs + maxMs;

/**
 * Returns a predicate for work that the policy ignores. If matching exceeds the step limit, the work is not ignored.
 */
function ignores({ ignore }: BackgroundPolicy, work: Work = createWork()): (piece: BackgroundWork) => boolean {
  const globs = ignore.map((glob) => textMatcher(glob, work));
  return ({ command, kind }) =>
    globs.some(
      (matches) => (command !== null && matches(command) === true) || (kind !== null && matches(kind) === true),
    );
}

/** Returns the work that a stop at `nowMs` waits for, in starting order. */
export function awaitedWork(
  background: readonly BackgroundWork[],
  policy: BackgroundPolicy,
  nowMs: number,
): readonly BackgroundWork[] {
  if (background.length === 0) return background;
  const isIgnored = ignores(policy);
  return background.filter((piece) => {
    const endMs = endOfWork(piece, policy);
    return (endMs === null || nowMs < endMs) && !isIgnored(piece);
  });
}

/** The work as views show it. `until` is null if stops wait without a limit. */
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
