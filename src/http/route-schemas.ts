/**
 * Common parts of the route schemas, which describe the API (openapi.ts). The service validates input, so that all
 * edges refuse it alike. Routes that exist over HTTP only validate by their schemas (`validateInput`).
 */
import type {} from '@fastify/swagger'; // Its types: a schema has tags and a summary.
import type { FastifySchemaCompiler, FastifyTypeProvider } from 'fastify';
import { z } from 'zod';
import { idSchema } from '../../machines/index.ts';
import { errorCodes } from '../errors.ts';
import { parseInput } from '../service/parse-input.ts';

/** Validates by the route's schemas, with the same errors as the service. */
export const validateInput: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (given) => {
    try {
      return { value: parseInput(schema, given) };
    } catch (error) {
      return { error: error as Error };
    }
  };
/** Types the validated input of such routes. */
export interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
  readonly serializer: unknown;
}

/** An object whose fields are not described. */
export const anyObject = z.looseObject({});

export const errorSchema = z.looseObject({
  error: z.object({
    code: z.enum([...new Set(Object.values(errorCodes).map(({ wire }) => wire)), 'INTERNAL']),
    message: z.string(),
    issues: z.array(
      z.object({ path: z.string(), message: z.string(), line: z.int().optional(), column: z.int().optional() }),
    ),
    retryAfterMs: z.number().optional().describe('retry after this time plus a random delay'),
  }),
});

export const oneOf = (names: Iterable<string>): z.ZodEnum => z.enum([...names] as [string, ...string[]]);

/** Describes a response without a body. */
export const noBody = (description: string): z.ZodType => z.null().describe(description);

/** Describes a response in one of several types, or in one that is not JSON. */
export const contentOf = (...types: readonly string[]): object => ({
  description: 'OK',
  content: Object.fromEntries(types.map((type) => [type, { schema: z.unknown() }])),
});

/** `?fleet=F`, outside `/api/<fleet>`. */
export const fleetInQuery = idSchema
  .optional()
  .describe('required if the service has several fleets and the token is for more than one');

export const seqSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be the sequence number of an entry: a whole number of at least 0')
  .transform(Number);
