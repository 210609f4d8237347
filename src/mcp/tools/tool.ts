/**
 * Defines tools: their input and output, the hints for clients about their effects, and the function that runs them.
 * Also has the input fields that several tools share, under the names of seed 001, and converts them to wire fields.
 */
import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { detectedAtMax, idSchema, type PromiseName, promiseNames, promisesOf } from '../../../machines/index.ts';
import { lastBytes } from '../../agents/shared/text.ts';
import type { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { AppError } from '../../errors.ts';
import type { ServicePort } from '../nats-port.ts';

export type ToolContext = {
  readonly port: ServicePort;
  /** Serializes sequences of reading, publishing and reading again. */
  readonly mutex: KeyedMutex;
  /** The worker for calls that name none. */
  readonly worker: string | null;
  /** Returns a short unique id. */
  readonly newId: () => string;
};

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** Only listed for and available to operators. */
  readonly forOperators: boolean;
  /** @throws AppError, which becomes a tool error */
  readonly run: (context: ToolContext, input: never) => Promise<object>;
};

type Effect = 'reads' | 'adds' | 'replaces';

/** `effect`: `replaces` includes removing. `idempotent`: repeating a call changes nothing. */
export function defineTool<const In extends z.ZodRawShape, const Out extends z.ZodRawShape>(tool: {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  readonly effect: Effect;
  readonly idempotent?: boolean;
  readonly forOperators?: boolean;
  readonly run: (
    context: ToolContext,
    input: z.output<z.ZodObject<In>>,
  ) => Promise<Readonly<z.input<z.ZodObject<Out>>>>;
}): Tool {
  const { name, title, description, effect, idempotent = effect === 'reads', forOperators = false } = tool;
  return {
    name,
    title,
    description,
    // Input is strict, so that misspelled fields are not ignored. Output may get new fields.
    input: z.strictObject(tool.input),
    output: z.looseObject(tool.output),
    annotations: {
      title,
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'replaces',
      idempotentHint: idempotent,
      openWorldHint: false,
    },
    forOperators,
    run: tool.run as Tool['run'],
  };
}

export const taskId = idSchema.describe('the id of the task');
export const worker = idSchema.optional().describe('your worker id; optional if this server was started with one');
export const iterationId = z.string().describe('as returned by iteration_start or iteration_next');
export const promise = z.enum(promiseNames);

/** The fields in which an agent reports its work, for hooks and checks. */
export const workShape = {
  agentOutput: z
    .string()
    .optional()
    .describe('your final message; <promise>COMPLETE</promise>, BLOCKED and ESCALATE are detected in it'),
  filesModified: z.array(z.string().min(1)).optional().describe('files that you changed'),
  validationResults: z
    .array(z.object({ ruleName: z.string().min(1), passed: z.boolean(), message: z.string().optional() }))
    .optional()
    .describe('results of validation rules, such as tests_pass'),
  completionPromises: z
    .array(
      z.object({
        type: promise,
        detected: z.boolean(),
        content: z.string(),
        detectedAt: z.string().max(detectedAtMax).optional(),
      }),
    )
    .optional()
    .describe('promises that you detected yourself; by default they are detected in agentOutput'),
  draftContent: z.string().optional(),
  draftType: z.string().optional(),
};
const outputBytesMax = 32_768;
type Work = z.output<z.ZodObject<typeof workShape>>;

/** Converts the fields to their wire form. `notes` tells the agent about changes, such as a cut. */
export function toWire(work: Work): { fields: object; promises: ReadonlySet<PromiseName>; notes: string[] } {
  const { agentOutput, filesModified, validationResults, completionPromises, draftContent, draftType } = work;
  const output = agentOutput === undefined ? undefined : lastBytes(agentOutput, outputBytesMax);
  // Undefined fields disappear in JSON.
  const fields = {
    output,
    files: filesModified,
    validation: validationResults?.map(({ ruleName, ...result }) => ({ rule: ruleName, ...result })),
    promises: completionPromises,
    draft: (draftContent ?? draftType) === undefined ? undefined : { content: draftContent, type: draftType },
  };
  return {
    fields,
    promises: promisesOf({ output, promises: completionPromises }),
    notes: output === agentOutput ? [] : ['agentOutput is over 32 KiB; only its last 32 KiB were used'],
  };
}

export const notes = z.array(z.string()).optional();
export const notesOf = (found: readonly string[]): { notes?: string[] } =>
  found.length === 0 ? {} : { notes: [...found] };

/** Returns the worker of the call, or that of the server. @throws AppError input.bad if neither is set */
export function resolveWorker(context: ToolContext, given: string | undefined): string {
  const found = given ?? context.worker;
  if (found !== null) return found;
  throw new AppError(
    'input.bad',
    'no worker given: pass `worker`, or set it once with "stopgate mcp --worker W" or, over HTTP, "/mcp?worker=W"',
  );
}

/**
 * Returns the id of an iteration for the tools. The wire has a task and a number instead (protocol.md §14); the id
 * contains both, so the server need not remember anything.
 */
export const formatIterationId = (iteration: number, task: string): string => `IT-${iteration}-${task}`;

/** @throws AppError input.bad */
export function parseIterationId(text: string): { task: string; iteration: number } {
  const [, number, task] = /^IT-([1-9]\d{0,8})-([A-Za-z0-9][A-Za-z0-9_-]{0,127})$/.exec(text) ?? [];
  if (number !== undefined && task !== undefined) return { task, iteration: Number(number) };
  throw new AppError(
    'input.bad',
    `'${text.slice(0, 140)}' is not an iterationId; use the one that iteration_start or iteration_next returned, such as IT-1-T-7`,
  );
}
