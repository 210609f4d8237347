/** `background.*`: work that goes on without the agent; while any is outstanding it is waited for. */
import { z } from 'zod';
import { name } from './fields.ts';

export const backgroundStarted = z.object({ id: name, kind: z.string().optional() });
export const backgroundFinished = z.object({ id: name, kind: z.string().optional() });
