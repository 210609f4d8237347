/** `timer.fired`: moves the log's clock when nothing else does. */
import { z } from 'zod';
import { idSchema } from '../values/schemas.ts';
import { name } from './fields.ts';

export const timerFired = z.object({ timer: name, attempt: idSchema.optional() });
