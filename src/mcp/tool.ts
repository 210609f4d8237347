/** What a tool is: its shapes, what clients are told of its effects, and the function that does it. */
import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { KeyedMutex } from '../keyed-mutex.ts';
import type { McpPort } from './port.ts';

export type ToolContext = {
  readonly port: McpPort;
  /** What looks, changes and looks again goes one after the other. */
  readonly mutex: KeyedMutex;
  /** Who asks, where a call does not say. */
  readonly worker: string | null;
  /** A short id that was not there before. */
  readonly newId: () => string;
};

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** @throws AppError, which becomes a tool error */
  readonly run: (context: ToolContext, input: never) => Promise<object>;
};

type Effect = 'reads' | 'adds' | 'replaces';

/** `effect`: looks only; adds something; takes something away. `again`: the same call twice does what one does. */
export function defineTool<const In extends z.ZodRawShape, const Out extends z.ZodRawShape>(tool: {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  readonly effect: Effect;
  readonly again?: boolean;
  readonly run: (
    context: ToolContext,
    input: z.output<z.ZodObject<In>>,
  ) => Promise<Readonly<z.input<z.ZodObject<Out>>>>;
}): Tool {
  const { name, title, description, effect, again = effect === 'reads' } = tool;
  return {
    ...{ name, title, description },
    // A misspelt field must not be ignored; what is answered may grow.
    input: z.strictObject(tool.input),
    output: z.looseObject(tool.output),
    annotations: {
      title,
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'replaces',
      idempotentHint: again,
      openWorldHint: false,
    },
    run: tool.run as Tool['run'],
  };
}
