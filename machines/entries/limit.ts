/** `limit.*`: a usage limit; one with a scope holds for all workers that report the same scope. */
import { z } from 'zod';
import { isoTimeSchema } from '../values/schemas.ts';
import { name } from './fields.ts';

export const limitReached = z.object({ scope: name.optional(), until: isoTimeSchema.optional() });
export const limitCleared = z.object({ scope: name.optional(), until: isoTimeSchema.optional() });
