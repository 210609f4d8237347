/**
 * `ran: glob`: a matching command must have run, and not failed, since the last change, prompt or claim. Evaluated in
 * the fold, from the commands that the agent's tools report.
 */
import { z } from 'zod';
import { type Evidence, unmatchedGlobs } from '../commands.ts';
import { globSchema } from '../glob.ts';
import { type CheckKind, findingFor, type RanSince } from './check.ts';

/** Limited because each is matched against all kept commands. */
const globsMax = 64;

export const ranCheck: CheckKind<'ran'> = {
  form: (object) =>
    z
      .union([
        globSchema,
        object({
          command: z.union([globSchema, z.array(globSchema).min(1).max(globsMax)]),
          since: z
            .enum(['change', 'prompt', 'claim'])
            .optional()
            .describe('since the last change of files (default), prompt by a person, or claim of a task'),
        }),
      ])
      .optional()
      .describe('a matching command has run and not failed; of several globs, each; * and ? match / too') as never,
  normalize: (value) => {
    const { command, since = 'change' } = typeof value === 'string' ? { command: value } : value;
    return { kind: 'ran', commands: typeof command === 'string' ? [command] : command, since };
  },
  evaluate: (check, { facts, errorOf }) => {
    const afterSeq = seqOf[check.since](facts);
    const counted = facts.commands.filter(({ seq, ok }) => ok && (afterSeq === null || seq > afterSeq));
    const missing = unmatchedGlobs(check.commands, counted, facts.work);
    if (missing === null) return errorOf(check, 'matching its commands exceeded the step limit of an evaluation');
    if (missing.length === 0) return findingFor(check, null);
    return findingFor(check, `${missing.join(', ')} has not run${afterSeq === null ? '' : since[check.since](facts)}`);
  },
};

const seqOf: Readonly<Record<RanSince, (facts: Evidence) => number | null>> = {
  change: ({ lastChange }) => lastChange?.seq ?? null,
  prompt: ({ promptedSeq }) => promptedSeq,
  claim: ({ claimedSeq }) => claimedSeq,
};

const since: Readonly<Record<RanSince, (facts: Evidence) => string>> = {
  change: ({ lastChange }) => ` since ${lastChange?.file} changed`,
  prompt: () => ' since the last prompt',
  claim: () => ' since the task was claimed',
};
