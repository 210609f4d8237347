/**
 * `when`: makes a check or hook conditional (protocol.md §7). All given conditions must hold, or else it is skipped.
 */
import { z } from 'zod';
import { globSchema, matchesAny, type Work } from './glob.ts';

export const conditionShape = {
  iterationAtLeast: z.int().positive().optional(),
  phase: z.string().optional().describe("the last checkpoint's phase"),
  filesMatch: globSchema.optional(),
  filesModified: z.boolean().optional(),
  label: z.string().min(1).optional().describe('"key" or "key=value"'),
};
type ConditionObject = z.ZodObject<typeof conditionShape>;
export type Condition = z.infer<ConditionObject>;

export const conditionSchema = (object: (shape: typeof conditionShape) => ConditionObject): ConditionObject =>
  object(conditionShape);

/** The facts that a condition reads. `iteration` 0: none was started. */
export type Circumstances = {
  readonly iteration: number;
  readonly phase: string | null;
  /** Lists of paths, taken together. */
  readonly files: readonly (readonly string[])[];
  /** A tool may have changed any file. */
  readonly filesUnknown: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly work: Work;
};

/** Returns null if it is not known, since the work allowed for it is used up. */
export function holds(when: Condition | null | undefined, at: Circumstances): boolean | null {
  if (when === null || when === undefined) return true;
  const { iterationAtLeast, phase, filesMatch, filesModified, label } = when;
  if (iterationAtLeast !== undefined && at.iteration < iterationAtLeast) return false;
  if (phase !== undefined && at.phase !== phase) return false;
  const isModified = at.filesUnknown || at.files.some((it) => it.length > 0);
  if (filesModified !== undefined && isModified !== filesModified) return false;
  if (label !== undefined && !hasLabel(at.labels, label)) return false;
  return filesMatch === undefined || at.filesUnknown ? true : matchesAny(filesMatch, at.files, at.work);
}

function hasLabel(labels: Circumstances['labels'], wanted: string): boolean {
  const split = wanted.indexOf('=');
  if (split < 0) return Object.hasOwn(labels, wanted);
  const key = wanted.slice(0, split);
  return Object.hasOwn(labels, key) && labels[key] === wanted.slice(split + 1);
}
