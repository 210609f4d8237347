/** `input.*`: the agent waits for a person, and no longer. */
import { z } from 'zod';

export const inputRequested = z.object({ kind: z.string().optional(), message: z.string().optional() });
export const inputReceived = z.object({ kind: z.string().optional(), message: z.string().optional() });
