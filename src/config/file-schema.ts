/** What stopgate.yaml may hold, as a schema (docs/protocol.md §8): strict, whatever is not known is a problem. */
import { z } from 'zod';
import { strictAssignSchema, strictPoliciesSchema } from '../../machines/index.ts';
import { durationSchema, idSchema } from '../../machines/values/schemas.ts';
import { httpFault, isNatsUrl, natsFault, readHttpAddress } from './values.ts';

const natsSchema = z.string().refine(isNatsUrl, natsFault);

/** The longest wait of a Node timer (2^31 - 1 ms, 24.8 days); a longer one would fire at once. */
const timerMsMax = 2_147_483_647;
const timerSchema = durationSchema.pipe(z.int().max(timerMsMax, `is longer than a timer can run (${timerMsMax} ms)`));

/** Each is a process of its own with its output in memory. */
const concurrencyMax = 1_000;

const word = z.string().min(1);
const commandSchema = z.strictObject({
  run: z
    .array(z.string())
    .min(1)
    .refine((argv) => argv[0] !== '', 'the program has no name')
    .describe('program and arguments; no shell reads them'),
  cwd: word
    .optional()
    .describe('"worker" (default): the folder of the worker; else a path from the folder of this file'),
  timeout: timerSchema.optional().describe('how long it may run; default 120s'),
  feedback: z
    .enum(['tail', 'json', 'none'])
    .optional()
    .describe('tail (default): the last 2,000 characters of the output; json: stdout is the structured difference'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'), z.string())
    .optional()
    .describe('variables beside those of the runner'),
});

const escalationSchema = z.strictObject({
  remind: timerSchema.nullable().optional().describe('say it again after this long; null (default): never'),
  webhook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/, error: 'is not an http(s) URL' }),
      secretEnv: word.optional().describe('the variable that holds the secret which signs each call'),
    })
    .nullable()
    .optional(),
});

/** A prefix is whole tokens, and none under which anything but an answer may be expected. */
const replyPrefixSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/, 'is not the prefix of a subject, such as _INBOX_app.')
  .refine((text) => text.split('.')[0] !== 'stopgate', 'is where entries and requests go: answers may not')
  .transform((text) => (text.endsWith('.') ? text : `${text}.`));

/** A port alone is a number, and what some editors make of `off` is false. */
const httpForm = z
  .union([z.string(), z.int(), z.literal(false)])
  .transform((value) => (value === false ? 'off' : String(value)))
  .refine((text) => readHttpAddress(text) !== undefined, httpFault);

export const fileForm = z.strictObject({
  fleet: idSchema.optional().describe('the tenant; default main'),
  nats: natsSchema.optional().describe('one or more servers, separated by commas; default nats://127.0.0.1:4222'),
  creds: word.optional().describe('the credentials for NATS: a path from the folder of this file'),
  http: httpForm.optional().describe('HOST:PORT of hooks, API and metrics; default 127.0.0.1:4280; "off": none'),
  replica: idSchema.optional().describe('the name of this copy of the service; default: made up at each start'),
  policies: strictPoliciesSchema
    .optional()
    .describe('when a stop is allowed; "default" is for a worker that names none'),
  assign: strictAssignSchema
    .optional()
    .describe('by agent, labels or worker; goes before the policy that a worker names'),
  roots: z.array(word).min(1).optional().describe("where workers' folders may lie; default: the folder of this file"),
  concurrency: z
    .int()
    .min(1)
    .max(concurrencyMax)
    .optional()
    .describe('how many commands and git checks run at the same time; default 8'),
  commands: z.record(idSchema, commandSchema).optional().describe('what command checks run, by name'),
  escalation: escalationSchema.nullable().optional(),
  releaseAfter: timerSchema
    .nullable()
    .optional()
    .describe("a stale worker's tasks go back to their queue after this long"),
  forget: durationSchema
    .nullable()
    .optional()
    .describe('how long a stopped worker or task is remembered after its last entry; default 7d; null: for ever'),
  replyPrefixes: z.array(replyPrefixSchema).optional().describe('where answers may go beside _INBOX. and _R_.'),
});
export type FileForm = z.output<typeof fileForm>;

/** What a person wrote, once it is known to be right. */
export type RawForm = {
  readonly policies?: Record<string, { checks?: CheckForm[]; runner?: string; runners?: string[] }>;
  readonly assign?: { policy: string }[];
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
};
export type CheckForm = { readonly command?: string; readonly all?: CheckForm[]; readonly any?: CheckForm[] };
