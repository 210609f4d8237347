/** `session.ended`: the agent's session is over, whatever was open. */
import { z } from 'zod';
import { reason } from './fields.ts';

export const sessionEnded = z.object({ reason: reason.optional() });
