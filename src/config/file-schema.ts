/** The schema of stopgate.yaml (docs/protocol.md §8). It is strict: an unknown key is a problem. */
import { z } from 'zod';
import {
  noticeTimes,
  operatorNameLengthMax,
  strictAssignSchema,
  strictDayBudgetSchema,
  strictPoliciesSchema,
} from '../../machines/index.ts';
import { durationSchema, idSchema } from '../../machines/values/schemas.ts';
import { accessRoles } from './access-tokens.ts';
import { fleetSelectionFault, isIdOrPattern, readFleetSelection } from './fleet-selection.ts';
import {
  hasDecodableUser,
  httpFault,
  isNatsUrl,
  isOriginUrl,
  natsFault,
  originFault,
  readHttpAddress,
} from './values.ts';

const natsSchema = z.string().refine(isNatsUrl, natsFault);

/** Each is a process of its own with its output in memory. */
const concurrencyMax = 1_000;

const word = z.string().min(1);
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable');
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

const tokensSchema = z
  .record(idSchema, tokenSchema)
  .refine((tokens) => Object.keys(tokens).length <= tokensMax, `names more than ${tokensMax}`);

/** Each is looked up at every start of the command. */
const inheritMax = 100;

const commandForm = z.strictObject({
  run: z
    .array(z.string())
    .min(1)
    .refine((argv) => argv[0] !== '', 'the program has no name')
    .describe('program and arguments, without a shell'),
  cwd: word.optional().describe('"worker" (default): the folder of the worker; otherwise a path relative to this file'),
  timeout: durationSchema.optional().describe('how long it may run; default 120s'),
  feedback: z
    .enum(['tail', 'json', 'none'])
    .optional()
    .describe('tail (default): the last 2,000 characters of the output; json: stdout is the structured difference'),
  inherit: z
    .array(variableName.refine((name) => !name.startsWith('STOPGATE_'), 'is one of our own, which may hold a token'))
    .max(inheritMax)
    .optional()
    .describe('variables of the service or runner that it gets, by name, beside PATH, HOME and the like'),
  env: z.record(variableName, z.string()).optional().describe('variables with these values'),
  reuse: z
    .enum(['tree'])
    .optional()
    .describe('tree: not run again while the git state of its folder is the one in which it passed'),
  speaks: z
    .enum(['json'])
    .optional()
    .describe(
      'json: it gets the request of a remote check on stdin and prints one JSON object, the reply of such a check',
    ),
  diff: z.boolean().optional().describe('with speaks: json, the request has the changes in the folder of the worker'),
});

/** The reply of a command that speaks JSON has its own feedback, and depends on more than the work tree. */
const commandSchema = commandForm
  .refine(({ speaks, feedback }) => speaks === undefined || feedback === undefined, {
    message: 'feedback does not go with speaks: json: the reply has its own',
    path: ['feedback'],
  })
  .refine(({ speaks, reuse }) => speaks === undefined || reuse === undefined, {
    message: 'reuse does not go with speaks: json: the reply depends on more than the work tree',
    path: ['reuse'],
  })
  .refine(({ speaks, diff }) => speaks !== undefined || diff !== true, {
    message: 'diff needs speaks: json',
    path: ['diff'],
  });

const bytesPattern = /^(\d{1,15})(KiB|MiB|GiB|TiB)?$/;
const bytesUnits: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

const bytesSchema = z
  .union([z.string(), z.int()])
  .refine((value) => bytesPattern.test(String(value)), 'is not a size: write 512MiB, 10GiB or a number of bytes')
  .transform((value) => {
    const [, digits, unit] = bytesPattern.exec(String(value)) ?? [];
    return Number(digits) * (bytesUnits[unit ?? ''] ?? 1);
  });

const httpUrl = z.url({ protocol: /^https?$/, error: 'is not an http(s) URL' });

/** The URL's user and password are sent decoded (RFC 7617). */
const postUrl = httpUrl.refine(
  hasDecodableUser,
  'the user or the password of this URL has a "%" that begins no escape: write it as %25',
);

const escalationSchema = z.strictObject({
  remind: durationSchema
    .nullable()
    .optional()
    .describe('repeat the notification after this long; null (default): never'),
  ...noticeTimes,
  webhook: z
    .strictObject({
      url: postUrl,
      secretEnv: word.optional().describe('the variable with the secret that signs each call'),
      allowPrivate: z
        .boolean()
        .optional()
        .describe(
          'may it post to loopback and private networks? default: only if HTTP listens on loopback and has no publicUrl, and never to link-local addresses',
        ),
      links: z
        .strictObject({
          url: httpUrl
            .refine((url) => !/[?#]/.test(url), 'has a query or a fragment, and the links need their own')
            .describe('where people reach this service'),
          by: z
            .string()
            .trim()
            .min(1)
            .max(operatorNameLengthMax)
            .optional()
            .describe('the name under which answers are stored; default "webhook link"'),
        })
        .nullable()
        .optional()
        .describe('also post what agents ask, with a link that answers it; null (default): off'),
    })
    .refine((it) => it.links == null || it.secretEnv !== undefined, {
      path: ['links'],
      message: 'needs "secretEnv" beside it: links are signed with the secret',
    })
    .nullable()
    .optional(),
});

/** Whole tokens, and not under `stopgate`, where subscribers expect something other than answers. */
const replyPrefixSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/, 'is not the prefix of a subject, such as _INBOX_app.')
  .refine((text) => text.split('.')[0] !== 'stopgate', 'is for entries and requests, not for answers')
  .transform((text) => (text.endsWith('.') ? text : `${text}.`));

/** A port alone is a number, and some editors turn `off` into false. */
const httpForm = z
  .union([z.string(), z.int(), z.literal(false)])
  .transform((value) => (value === false ? 'off' : String(value)))
  .refine((text) => readHttpAddress(text) !== undefined, httpFault);

const fleetsSchema = z
  .array(word)
  .min(1)
  .refine((list) => readFleetSelection(list.join(',')) !== undefined, fleetSelectionFault);

export const fileForm = z.strictObject({
  fleet: idSchema.optional().describe('the fleet; default main'),
  fleets: fleetsSchema
    .optional()
    .describe(
      'the fleets that one service serves: names, and patterns such as team-* for fleets that exist; default: only "fleet"',
    ),
  nats: natsSchema.optional().describe('one or more servers, separated by commas; default nats://127.0.0.1:4222'),
  creds: word.optional().describe('the credentials for NATS: a path relative to this file'),
  http: httpForm.optional().describe('HOST:PORT of hooks, API and metrics; default 127.0.0.1:4280; "off": none'),
  publicUrl: z
    .string()
    .refine(isOriginUrl, originFault)
    .optional()
    .describe('the URL at which others reach the service through a proxy, such as https://stopgate.example.com'),
  tls: z
    .strictObject({ cert: word, key: word })
    .optional()
    .describe('HTTPS: the certificate and its key, PEM files relative to this one; read again on every change'),
  tokens: tokensSchema
    .nullable()
    .optional()
    .describe('who may use HTTP, by name; if there are any, each request needs a token; default null: none'),
  replica: idSchema.optional().describe('the name of this replica; default: generated at each start'),
  policies: strictPoliciesSchema
    .optional()
    .describe('when a stop is allowed; "default" is for workers that name no policy'),
  strict: z
    .boolean()
    .optional()
    .describe('true: a check that cannot be judged blocks the stop, regardless of its own onError; default false'),
  assign: strictAssignSchema
    .optional()
    .describe('by agent, labels or worker; takes precedence over the policy that a worker names'),
  budget: strictDayBudgetSchema
    .nullable()
    .optional()
    .describe('what all workers together may use on one day in UTC before stops are no longer judged'),
  roots: z.array(word).min(1).optional().describe("where workers' folders may lie; default: the folder of this file"),
  concurrency: z
    .int()
    .min(1)
    .max(concurrencyMax)
    .optional()
    .describe('how many command and git checks run at the same time; default 8'),
  git: z
    .strictObject({
      untracked: z.enum(['count', 'ignore']).optional().describe('files that git does not know; default count'),
      worktrees: z
        .enum(['count', 'ignore'])
        .optional()
        .describe('linked worktrees of the repository inside its own folder; default count'),
    })
    .optional()
    .describe('what is uncommitted work for git checks with clean: true'),
  commands: z.record(idSchema, commandSchema).optional().describe('the commands of command checks, by name'),
  escalation: escalationSchema.nullable().optional(),
  releaseAfter: durationSchema
    .nullable()
    .optional()
    .describe("a stale worker's tasks go back to their queue after this long"),
  forget: durationSchema
    .nullable()
    .optional()
    .describe('how long a stopped worker or task is remembered after its last entry; default 7d; null: for ever'),
  retain: z
    .strictObject({
      for: durationSchema.nullable().optional().describe('how long an entry is kept; null (default): for ever'),
      bytes: bytesSchema.nullable().optional().describe('how large the log may become; null (default): any size'),
    })
    .nullable()
    .optional()
    .describe('what may be removed from the log behind its second newest snapshot; default: nothing'),
  archive: word
    .nullable()
    .optional()
    .describe('a folder, relative to this file, that gets what "retain" removes; null (default): none'),
  replyPrefixes: z.array(replyPrefixSchema).optional().describe('where answers may go in addition to _INBOX. and _R_.'),
});
export type FileForm = z.output<typeof fileForm>;

/** The file as it was written, once it is valid. */
export type RawForm = {
  readonly policies?: Record<string, { checks?: CheckForm[]; runner?: string; runners?: string[] }>;
  readonly strict?: boolean;
  readonly assign?: { policy: string }[];
  readonly commands?: Record<string, { inherit?: string[] }>;
  readonly tokens?: Record<string, { env?: string }>;
  readonly escalation?: {
    waiting?: string | number | null;
    unattended?: string | number | null;
    webhook?: { secretEnv?: string } | null;
  } | null;
  readonly budget?: unknown;
  readonly releaseAfter?: unknown;
  readonly forget?: unknown;
};
export type CheckForm = {
  readonly command?: string;
  readonly files?: string[];
  readonly onFail?: 'block' | 'warn';
  readonly all?: CheckForm[];
  readonly any?: CheckForm[];
  readonly onError?: string;
};
