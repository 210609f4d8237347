/** Fields that several entries have. */
import { z } from 'zod';
import { filesMax } from './limits.ts';

/** Not empty. What is named so stands in no subject, so it need be no id. */
export const name = z.string().min(1);
export const files = z.array(name).max(filesMax);
export const noFields = z.object({});
