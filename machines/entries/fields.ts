/** Fields that several entries have. */
import { z } from 'zod';
import { filesMax, pathLengthMax, titleLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

/** Not empty. What is named so stands in no subject, so it need be no id. */
export const name = z.string().min(1);
/** A title or a reason. */
export const title = textSchema(titleLengthMax);
export const files = z.array(textSchema(pathLengthMax).min(1)).max(filesMax);
export const noFields = z.object({});
