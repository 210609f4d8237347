/** The names of seed 001, which the tools use, and those of the wire. */
import { z } from 'zod';
import { idSchema, type PromiseName, promiseNames, promisesOf } from '../../machines/index.ts';
import { lastBytes } from '../agents/shared/text.ts';
import { AppError } from '../errors.ts';

export const taskId = idSchema.describe('the id of the task');
export const worker = idSchema.optional().describe('who you are; may be left out where this server was told');
export const iterationId = z.string().describe('as iteration_start or iteration_next gave it');
export const promise = z.enum(promiseNames);

/** What an agent says of its work, as hooks and checks see it. */
export const workShape = {
  agentOutput: z
    .string()
    .optional()
    .describe('your last words; <promise>COMPLETE</promise>, BLOCKED and ESCALATE are read from them'),
  filesModified: z.array(z.string().min(1)).optional().describe('files that you changed'),
  validationResults: z
    .array(z.object({ ruleName: z.string().min(1), passed: z.boolean(), message: z.string().optional() }))
    .optional()
    .describe('results of validation rules, such as tests_pass'),
  completionPromises: z
    .array(z.object({ type: promise, detected: z.boolean(), content: z.string() }))
    .optional()
    .describe('promises that you found yourself; without it they are read from agentOutput'),
  draftContent: z.string().optional(),
  draftType: z.string().optional(),
};
const outputBytesMax = 32_768;
type Work = z.output<z.ZodObject<typeof workShape>>;

/** `notes`: what was done to the fields on the way. */
export function toWire(work: Work): { fields: object; promises: ReadonlySet<PromiseName>; notes: string[] } {
  const { agentOutput, filesModified, validationResults, completionPromises, draftContent, draftType } = work;
  const output = agentOutput === undefined ? undefined : lastBytes(agentOutput, outputBytesMax);
  const given = {
    output,
    files: filesModified,
    validation: validationResults?.map(({ ruleName, ...result }) => ({ rule: ruleName, ...result })),
    promises: completionPromises,
    draft: (draftContent ?? draftType) === undefined ? undefined : { content: draftContent, type: draftType },
  };
  return {
    // Undefined fields are gone in JSON.
    fields: given,
    promises: promisesOf({ output, promises: completionPromises }),
    notes: output === agentOutput ? [] : ['agentOutput is over 32 KiB: its last 32 KiB were looked at'],
  };
}

export const notes = z.array(z.string()).optional();
export const notesOf = (found: readonly string[]): { notes?: string[] } =>
  found.length === 0 ? {} : { notes: [...found] };

/** The place of an iteration in its own name, so that nobody has to remember it. */
export const formatIterationId = (iteration: number, task: string): string => `IT-${iteration}-${task}`;

/** @throws AppError input.bad */
export function readIterationId(text: string): { task: string; iteration: number } {
  const [, number, task] = /^IT-([1-9]\d{0,8})-([A-Za-z0-9][A-Za-z0-9_-]{0,127})$/.exec(text) ?? [];
  if (number !== undefined && task !== undefined) return { task, iteration: Number(number) };
  throw new AppError(
    'input.bad',
    `'${text.slice(0, 140)}' is no iterationId; take the one that iteration_start or iteration_next gave, such as IT-1-T-7`,
  );
}
