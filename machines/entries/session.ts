/** `session.ended`: the agent's session is over, whatever was open. */
import { z } from 'zod';

export const sessionEnded = z.object({ reason: z.string().optional() });
