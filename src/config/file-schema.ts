/** The schema of stopgate.yaml (protocol.md §8). Strict: unknown keys are problems. */
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
  isPublicUrl,
  natsFault,
  publicUrlFault,
  readHttpAddress,
} from './values.ts';

const natsSchema = z.string().refine(isNatsUrl, natsFault);

/** Each check is a process with its output in memory. */
const concurrencyMax = 1_000;

const word = z.string().min(1);
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a valid variable name');
/** Every request is compared with all tokens. */
const tokensMax = 1_000;
const patternsMax = 100;

const hashSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'is not a hash that "stopgate token" prints: sha256: and 64 hexadecimal digits');

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
        'only these fleets: names, and patterns such as team-*; default: every fleet. required with "workers" if the service has several fleets',
      ),
    env: z.string().min(1).optional().describe('the variable that holds the token'),
    file: z
      .string()
      .min(1)
      .optional()
      .describe('a file with one or more tokens, one per line, relative to this file; reloaded when it changes'),
    hash: z
      .union([hashSchema, z.array(hashSchema).min(1)])
      .optional()
      .describe('the hash that "stopgate token" prints with a new token; each hash of a list is valid'),
  })
  .refine(({ env, file, hash }) => [env, file, hash].filter((secret) => secret !== undefined).length === 1, {
    message: 'a token needs exactly one of env, file and hash',
  });

const tokensSchema = z
  .record(idSchema, tokenSchema)
  .refine((tokens) => Object.keys(tokens).length <= tokensMax, `has more than ${tokensMax} tokens`);

/** Every variable is looked up at each start of the command. */
const inheritMax = 100;

const commandForm = z.strictObject({
  run: z
    .array(z.string())
    .min(1)
    .refine((argv) => argv[0] !== '', 'the name of the program is empty')
    .describe('program and arguments, without a shell'),
  cwd: word.optional().describe('"worker" (default): the folder of the worker; otherwise a path relative to this file'),
  timeout: durationSchema.optional().describe('how long it may run; default 120s'),
  feedback: z
    .enum(['tail', 'json', 'none'])
    .optional()
    .describe('tail (default): the last 2,000 characters of the output; json: stdout is the structured difference'),
  inherit: z
    .array(
      variableName.refine(
        (name) => !name.startsWith('STOPGATE_'),
        'is a variable of stopgate itself, which may hold a token',
      ),
    )
    .max(inheritMax)
    .optional()
    .describe('names of variables to pass on from the service or runner, in addition to PATH, HOME and similar ones'),
  env: z.record(variableName, z.string()).optional().describe('variables to set'),
  reuse: z
    .enum(['tree'])
    .optional()
    .describe('tree: do not run again until the git state of its folder differs from the one in which it passed'),
  speaks: z
    .enum(['json'])
    .optional()
    .describe('json: the command reads the request of a remote check on stdin and prints the reply as one JSON object'),
  diff: z
    .boolean()
    .optional()
    .describe('with speaks: json, the request includes the changes in the folder of the worker'),
});

/** A JSON reply contains its own feedback, and depends on more than the work tree. */
const commandSchema = commandForm
  .refine(({ speaks, feedback }) => speaks === undefined || feedback === undefined, {
    message: 'feedback cannot be combined with speaks: json, whose reply has its own',
    path: ['feedback'],
  })
  .refine(({ speaks, reuse }) => speaks === undefined || reuse === undefined, {
    message: 'reuse cannot be combined with speaks: json, whose reply depends on more than the work tree',
    path: ['reuse'],
  })
  .refine(({ speaks, diff }) => speaks !== undefined || diff !== true, {
    message: 'diff needs speaks: json',
    path: ['diff'],
  });

const bytesPattern = /^(\d{1,15})(KiB|MiB|GiB|TiB)?$/;
const bytesUnits: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** Shorter is a number without its unit, and would empty the log. */
const retainMsMin = 1_000;

const bytesSchema = z
  .union([z.string(), z.int()])
  .refine((value) => bytesPattern.test(String(value)), 'is not a size; write 512MiB, 10GiB or a number of bytes')
  .transform((value) => {
    const [, digits, unit] = bytesPattern.exec(String(value)) ?? [];
    return Number(digits) * (bytesUnits[unit ?? ''] ?? 1);
  });

const httpUrl = z.url({ protocol: /^https?$/, error: 'is not an http(s) URL' });

/** The user and password of the URL are sent decoded (RFC 7617). */
const postUrl = httpUrl.refine(
  hasDecodableUser,
  'the user or password of this URL has a "%" that begins no escape; write it as %25',
);

const escalationSchema = z.strictObject({
  remind: durationSchema
    .nullable()
    .optional()
    .describe('repeat the notification at this interval; null (default): never'),
  ...noticeTimes,
  webhook: z
    .strictObject({
      url: postUrl,
      secretEnv: word.optional().describe('the variable with the secret that signs each call'),
      allowPrivate: z
        .boolean()
        .optional()
        .describe(
          'whether it may post to loopback and private networks; default: only if HTTP listens on loopback and there is no publicUrl; never to link-local addresses',
        ),
      links: z
        .strictObject({
          url: httpUrl
            .refine((url) => !/[?#]/.test(url), 'must not have a query or a fragment, which the links add')
            .describe('the address at which people reach this service'),
          by: z
            .string()
            .trim()
            .min(1)
            .max(operatorNameLengthMax)
            .optional()
            .describe('the operator name stored with answers; default "webhook link"'),
        })
        .nullable()
        .optional()
        .describe('also post requests of agents, with links to answer them; null (default): off'),
    })
    .refine(({ links, secretEnv }) => links == null || secretEnv !== undefined, {
      path: ['links'],
      message: 'needs "secretEnv": links are signed with the secret',
    })
    .nullable()
    .optional(),
});

/** Whole tokens of a subject. Not below `stopgate`, where subscribers expect entries rather than replies. */
const replyPrefixSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/, 'is not the prefix of a subject such as _INBOX_app.')
  .refine((text) => text.split('.')[0] !== 'stopgate', 'is reserved for entries and requests')
  .transform((text) => (text.endsWith('.') ? text : `${text}.`));

/** YAML reads a bare port as a number, and some editors turn `off` into false. */
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
    .describe('the fleets to serve: names, and patterns such as team-* for existing fleets; default: only "fleet"'),
  nats: natsSchema.optional().describe('one or more servers, separated by commas; default nats://127.0.0.1:4222'),
  creds: word.optional().describe('the credentials for NATS: a path relative to this file'),
  http: httpForm.optional().describe('HOST:PORT for hooks, API and metrics; default 127.0.0.1:4280; "off": no HTTP'),
  publicUrl: z
    .string()
    .refine(isPublicUrl, publicUrlFault)
    .optional()
    .describe(
      'the public URL of the service behind a proxy, such as https://stopgate.example.com or https://example.com/stopgate/',
    ),
  tls: z
    .strictObject({ cert: word, key: word })
    .optional()
    .describe('HTTPS: the certificate and its key, as PEM files relative to this file; reloaded when they change'),
  tokens: tokensSchema
    .nullable()
    .optional()
    .describe('tokens for HTTP, by name; if there are any, every request needs one; default null: none'),
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
    .describe('what all workers together may use per UTC day before stops are allowed without checks'),
  roots: z
    .array(word)
    .min(1)
    .optional()
    .describe("folders that may contain workers' folders; default: the folder of this file"),
  concurrency: z
    .int()
    .min(1)
    .max(concurrencyMax)
    .optional()
    .describe('how many command and git checks may run at the same time; default 8'),
  git: z
    .strictObject({
      untracked: z.enum(['count', 'ignore']).optional().describe('files that git does not track; default count'),
      worktrees: z
        .enum(['count', 'ignore'])
        .optional()
        .describe('linked worktrees of the repository inside its own folder; default count'),
    })
    .optional()
    .describe('what counts as uncommitted work for git checks with clean: true'),
  commands: z.record(idSchema, commandSchema).optional().describe('the commands of command checks, by name'),
  escalation: escalationSchema.nullable().optional(),
  releaseAfter: durationSchema
    .nullable()
    .optional()
    .describe("a stale worker's tasks go back to their queue after this long"),
  forget: durationSchema
    .nullable()
    .optional()
    .describe('how long to keep a stopped worker or task after its last entry; default 7d; null: forever'),
  retain: z
    .strictObject({
      for: durationSchema
        .refine((ms) => ms >= retainMsMin, {
          error: ({ input }) => `would keep entries for ${input} ms only: write at least 1s, such as 30d`,
        })
        .nullable()
        .optional()
        .describe('how long to keep an entry; null (default): forever'),
      bytes: bytesSchema.nullable().optional().describe('the maximum size of the log; null (default): no limit'),
    })
    .nullable()
    .optional()
    .describe('limits of the log; entries older than its second newest snapshot may be removed; default: no limits'),
  archive: word
    .nullable()
    .optional()
    .describe('a folder for the entries that "retain" removes, relative to this file; null (default): none'),
  replyPrefixes: z
    .array(replyPrefixSchema)
    .optional()
    .describe('prefixes of reply subjects to allow in addition to _INBOX. and _R_.'),
});
export type FileForm = z.output<typeof fileForm>;

/** The valid file as it was written. */
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
