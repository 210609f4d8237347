/** `tool.used`: the agent used a tool, maybe on files. */
import { z } from 'zod';
import { files, name } from './fields.ts';

export const toolUsed = z.object({
  tool: name,
  ok: z.boolean().optional(),
  files: files.optional(),
  call: z.string().optional(),
});
