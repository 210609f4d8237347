/** `tool.started`, `tool.used`: the agent runs a tool; it has run, maybe on files. `call`: the agent's id of the call. */
import { z } from 'zod';
import { nameLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';
import { files, name } from './fields.ts';

/** Both are kept while the call is open. */
export const toolStarted = z.object({
  tool: textSchema(nameLengthMax).min(1),
  call: textSchema(nameLengthMax).optional(),
});

export const toolUsed = z.object({
  tool: name,
  ok: z.boolean().optional(),
  files: files.optional(),
  call: z.string().optional(),
});
