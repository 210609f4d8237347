/** Defines a tool: its input and output, the hints that clients get about its effect, and the function that runs it. */
import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import type { ServicePort } from '../nats-port.ts';

export type ToolContext = {
  readonly port: ServicePort;
  /** The mutex for sequences of reading, publishing and reading again. */
  readonly mutex: KeyedMutex;
  /** The worker for calls that name none. */
  readonly worker: string | null;
  /** Makes a short unique id. */
  readonly newId: () => string;
};

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** @throws AppError: becomes a tool error */
  readonly run: (context: ToolContext, input: never) => Promise<object>;
};

type Effect = 'reads' | 'adds' | 'replaces';

/** `effect`: only reads; adds something; removes or replaces something. `idempotent`: repeating a call changes nothing. */
export function defineTool<const In extends z.ZodRawShape, const Out extends z.ZodRawShape>(tool: {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  readonly effect: Effect;
  readonly idempotent?: boolean;
  readonly run: (
    context: ToolContext,
    input: z.output<z.ZodObject<In>>,
  ) => Promise<Readonly<z.input<z.ZodObject<Out>>>>;
}): Tool {
  const { name, title, description, effect, idempotent = effect === 'reads' } = tool;
  return {
    ...{ name, title, description },
    // Input is strict, because a misspelled field must not be ignored; output may get new fields.
    input: z.strictObject(tool.input),
    output: z.looseObject(tool.output),
    annotations: {
      title,
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'replaces',
      idempotentHint: idempotent,
      openWorldHint: false,
    },
    run: tool.run as Tool['run'],
  };
}
