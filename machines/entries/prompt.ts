/** `prompt.submitted`: a turn begins. */
import { z } from 'zod';

export const promptSubmitted = z.object({ text: z.string().optional() });
