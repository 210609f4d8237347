/** Fields that several entries have. */
import { z } from 'zod';
import { filesMax, pathLengthMax, titleLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';
import { isLonger } from '../values/text.ts';

/** A name that is in no subject, so it need not be an id. Not empty. */
export const name = z.string().min(1);
/** A title or a reason. */
export const title = textSchema(titleLengthMax);
/** Validated as a whole: there may be thousands, and the first wrong one is enough. */
export const files = z
  .custom<string[]>()
  .superRefine((value: unknown, context) => {
    const fault = filesFault(value);
    if (fault !== null) context.addIssue({ code: 'custom', ...fault });
  })
  .meta({ type: 'array', items: { type: 'string', minLength: 1, maxLength: pathLengthMax }, maxItems: filesMax });

/** Says what is wrong with a list of files; null if nothing is. */
export function filesFault(value: unknown): { path: number[]; message: string } | null {
  if (!Array.isArray(value)) return { path: [], message: 'is not a list of paths' };
  if (value.length > filesMax) return { path: [], message: `has more than ${filesMax} paths` };
  for (const [index, path] of value.entries()) {
    if (typeof path !== 'string' || path === '') return { path: [index], message: 'is not a path' };
    if (isLonger(path, pathLengthMax)) return { path: [index], message: `has more than ${pathLengthMax} characters` };
  }
  return null;
}
/** An object with any content, kept as it came. */
export const metadata = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'is not an object',
  )
  .meta({ type: 'object', additionalProperties: {} });
export const noFields = z.object({});
