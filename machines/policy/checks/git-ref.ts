/** What git reads as a commit, in a policy. */
import { textSchema } from '../../values/schemas.ts';

const refLengthMax = 256;
/** One that begins with `-` would be an option. */
export const gitRefSchema = textSchema(refLengthMax)
  .min(1)
  .regex(/^[^-]/, 'a ref does not begin with -')
  .regex(/^[^\s\p{Cc}]+$/u, 'a ref has no spaces');
