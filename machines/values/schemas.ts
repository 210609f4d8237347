/** Schemas of common fields. Their plain functions are in separate files, because not all code needs zod. */
import { z } from 'zod';
import { idFault, idPattern, stepIdPattern } from './id.ts';
import { filesMax, pathLengthMax, titleLengthMax } from './limits.ts';
import { isLonger } from './text.ts';
import { durationMsMax, durationPattern, parseDuration, parseIsoTime } from './time.ts';

export const idSchema = z.string().regex(idPattern, idFault);
export const stepIdSchema = z.string().regex(stepIdPattern, idFault);

/** A text of at most `lengthMax` code points. */
export const textSchema = (lengthMax: number) =>
  z
    .string()
    .refine((text) => !isLonger(text, lengthMax), `has more than ${lengthMax} characters`)
    .meta({ maxLength: lengthMax });

const tooLong = 'is longer than 100 years (36525d)';

/** Accepts the written form or a number of milliseconds. Produces whole milliseconds, at most 100 years. */
export const durationSchema = z.union([
  z.int().nonnegative().max(durationMsMax, tooLong),
  z
    .string()
    .regex(durationPattern, 'is not a duration: write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds')
    .refine((text) => (parseDuration(text) ?? 0) <= durationMsMax, tooLong)
    .transform((text) => parseDuration(text) as number),
]);

/** A time field of an entry. Produces milliseconds. */
export const isoTimeSchema = z.string().transform((text, context) => {
  const atMs = parseIsoTime(text);
  if (atMs !== null) return atMs;
  context.addIssue({ code: 'custom', message: 'is not a time: write ISO 8601 in UTC, e.g. 2026-03-02T12:00:00.000Z' });
  return z.NEVER;
});

const gitRefLengthMax = 256;
/** A git revision. Must not begin with `-`: git would take it for an option. */
export const gitRefSchema = textSchema(gitRefLengthMax)
  .min(1)
  .regex(/^[^-]/, 'a ref does not begin with -')
  .regex(/^[^\s\p{Cc}]+$/u, 'a ref has no spaces');

/** Policies are read loosely from the log, but strictly (unknown keys are errors) from a configuration. */
export type ObjectMaker = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.ZodObject<Shape>;

export const looseObject: ObjectMaker = (shape) => z.object(shape);
export const strictObject: ObjectMaker = (shape) => z.strictObject(shape) as never;

/** A non-empty name. Never part of a subject, so it need not be an id. */
export const name = z.string().min(1);
/** A title or a reason. */
export const title = textSchema(titleLengthMax);
/** A list of paths. Validated as a whole: there may be thousands, and reporting the first bad one is enough. */
export const files = z
  .custom<string[]>()
  .superRefine((value: unknown, context) => {
    const fault = filesFault(value);
    if (fault !== null) context.addIssue({ code: 'custom', ...fault });
  })
  .meta({ type: 'array', items: { type: 'string', minLength: 1, maxLength: pathLengthMax }, maxItems: filesMax });

/** Returns the first fault of a list of files, or null. */
export function filesFault(value: unknown): { path: number[]; message: string } | null {
  if (!Array.isArray(value)) return { path: [], message: 'is not a list of paths' };
  if (value.length > filesMax) return { path: [], message: `has more than ${filesMax} paths` };
  for (const [index, path] of value.entries()) {
    if (typeof path !== 'string' || path === '') return { path: [index], message: 'is not a path' };
    if (isLonger(path, pathLengthMax)) return { path: [index], message: `has more than ${pathLengthMax} characters` };
  }
  return null;
}

/** An object with any content, kept unchanged. */
export const metadata = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'is not an object',
  )
  .meta({ type: 'object', additionalProperties: {} });

export const noFields = z.object({});
