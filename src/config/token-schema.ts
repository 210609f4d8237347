/** `tokens` in stopgate.yaml. */
import { z } from 'zod';
import { idSchema } from '../../machines/values/schemas.ts';
import { accessRoles, type TokenConfig, type TokenSource } from './access-tokens.ts';
import { isIdOrPattern } from './fleet-selection.ts';

/** Each request is compared with all of them. */
const tokensMax = 1_000;
const patternsMax = 100;

const hashSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'is not a hash as "stopgate token" prints it: sha256: and 64 hexadecimal digits');

const tokenSchema = z
  .strictObject({
    role: z
      .enum(accessRoles)
      .describe('read: everything that does not change the log; agent: also stops and entries; operator: everything'),
    workers: z
      .array(z.string().refine(isIdOrPattern, 'is not the id of a worker, or a pattern such as box-1-*'))
      .min(1)
      .max(patternsMax)
      .optional()
      .describe('only these workers: ids, and patterns such as box-1-*; default: every worker'),
    fleets: z
      .array(z.string().refine(isIdOrPattern, 'is not the name of a fleet, or a pattern such as team-*'))
      .min(1)
      .max(patternsMax)
      .optional()
      .describe(
        'only these fleets: names, and patterns such as team-*; default: every fleet. Needed beside "workers" where a service has several',
      ),
    env: z.string().min(1).optional().describe('the variable that holds the token'),
    file: z
      .string()
      .min(1)
      .optional()
      .describe('a file, relative to this one, with one or more tokens, one per line; reloaded when it changes'),
    hash: z
      .union([hashSchema, z.array(hashSchema).min(1)])
      .optional()
      .describe('the hash that "stopgate token" prints with a new token; in a list, each one is valid'),
  })
  .refine(({ env, file, hash }) => [env, file, hash].filter((it) => it !== undefined).length === 1, {
    message: 'needs its secret in one of env, file and hash',
  });

export const tokensSchema = z
  .record(idSchema, tokenSchema)
  .refine((tokens) => Object.keys(tokens).length <= tokensMax, `names more than ${tokensMax}`);

/** @param toPath makes a path of the file absolute */
export function toTokens(form: z.output<typeof tokensSchema>, toPath: (path: string) => string): TokenConfig[] {
  return Object.entries(form).map(([name, { role, workers = null, fleets = null, env, file, hash = [] }]) => {
    const source: TokenSource =
      env !== undefined ? { env } : file !== undefined ? { file: toPath(file) } : { hashes: [hash].flat() };
    return { name, role, workers, fleets, source };
  });
}
