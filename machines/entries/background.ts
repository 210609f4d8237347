/** `background.*`: work that continues without the agent; while any is outstanding, stops wait for it. */
import { z } from 'zod';
import { nameLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

/** What it is called by whoever runs it: not an id of ours. */
const name = textSchema(nameLengthMax).min(1);

export const backgroundStarted = z.object({ id: name, kind: z.string().optional() });
export const backgroundFinished = z.object({ id: name, kind: z.string().optional() });
