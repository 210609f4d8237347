/** `when` makes a check or hook conditional (protocol.md §7): it is skipped unless all given conditions hold. */
import { z } from 'zod';
import { globSchema, matchesAny, type Work } from './glob.ts';

const conditionShape = {
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

/** The facts that conditions read. `iteration` is 0 if none was started. */
export type Circumstances = {
  readonly iteration: number;
  readonly phase: string | null;
  /** Lists of modified paths, to be combined. */
  readonly files: readonly (readonly string[])[];
  /** A tool may have changed any file. */
  readonly filesUnknown: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly work: Work;
};

/** Tells whether all conditions hold; null if matching exceeded the step limit. */
export function holds(when: Condition | null | undefined, circumstances: Circumstances): boolean | null {
  if (when === null || when === undefined) return true;
  const { iterationAtLeast, phase, filesMatch, filesModified, label } = when;
  const { iteration, files, filesUnknown, labels, work } = circumstances;
  if (iterationAtLeast !== undefined && iteration < iterationAtLeast) return false;
  if (phase !== undefined && circumstances.phase !== phase) return false;
  const isModified = filesUnknown || files.some((paths) => paths.length > 0);
  if (filesModified !== undefined && isModified !== filesModified) return false;
  if (label !== undefined && !hasLabel(labels, label)) return false;
  return filesMatch === undefined || filesUnknown ? true : matchesAny(filesMatch, files, work);
}

function hasLabel(labels: Circumstances['labels'], wanted: string): boolean {
  const split = wanted.indexOf('=');
  if (split < 0) return Object.hasOwn(labels, wanted);
  const key = wanted.slice(0, split);
  return Object.hasOwn(labels, key) && labels[key] === wanted.slice(split + 1);
}
