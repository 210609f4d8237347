/** `session.ended`: the agent's session is over, whatever was open. */
import { z } from 'zod';
import { title } from './fields.ts';

export const sessionEnded = z.object({ reason: title.optional() });
