/**
 * stopgate.yaml (protocol 8). Strict: whatever is not known, and whatever is not what it must be, is a problem with its
 * line and column. Reads text only: no file, no environment, no clock.
 */
import { basename, dirname, resolve } from 'node:path';
import { z } from 'zod';
import {
  idSchema,
  type PolicySet,
  payloadBytesMax,
  strictAssignSchema,
  strictPoliciesSchema,
} from '../../machines/index.ts';
import { describeFaults } from './problems.ts';
import { httpSchema, natsSchema, timerSchema } from './values.ts';
import { type Locate, type Path, type Position, problemsMax, readYaml } from './yaml.ts';

/** `cwd`: `worker` is the folder of the worker that stops; else an absolute path. The first of `run` is the program. */
export type CommandConfig = {
  readonly run: readonly [string, ...string[]];
  readonly cwd: 'worker' | string;
  readonly timeoutMs: number;
  readonly feedback: 'tail' | 'json' | 'none';
  readonly env?: Readonly<Record<string, string>>;
};

/** What a `policy.set` entry carries: the configuration's own form, exactly as written. */
export type PolicyForm = {
  readonly policies: Readonly<Record<string, unknown>>;
  readonly assign?: readonly unknown[];
  readonly releaseAfter?: unknown;
};

/** `remindMs` null: never again. `secretEnv`: the variable that holds the secret; null: unsigned. */
export type EscalationConfig = {
  readonly remindMs: number | null;
  readonly webhook: { readonly url: string; readonly secretEnv: string | null } | null;
};

/** Null is what the file does not say. All paths are absolute. */
export type ConfigFile = {
  readonly fleet: string | null;
  readonly nats: string | null;
  readonly creds: string | null;
  /** As `--http` takes it. */
  readonly http: string | null;
  readonly replica: string | null;
  readonly policySet: PolicySet;
  /** Null: the file has none of `policies`, `assign` and `releaseAfter`, so it has no say in them. */
  readonly policyForm: PolicyForm | null;
  /** At least one: the folder of the file where it names none. */
  readonly roots: readonly string[];
  /** Without a prototype, so a name that is not there is undefined, whatever it is. */
  readonly commands: Readonly<Record<string, CommandConfig>>;
  readonly escalation: EscalationConfig | null;
  /** Beside `_INBOX.` and `_R_.`; each ends in a dot. */
  readonly replyPrefixes: readonly string[];
};

/** `path` is joined by dots; '' is the whole file. */
export type Problem = Position & { readonly path: string; readonly message: string };
export type ReadConfigFile =
  | { readonly ok: true; readonly file: ConfigFile; readonly warnings: readonly string[]; readonly locate: Locate }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const commandTimeoutMs = 120_000;

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
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no name of a variable'), z.string())
    .optional()
    .describe('variables beside those of the runner'),
});

const escalationSchema = z.strictObject({
  remind: timerSchema.nullable().optional().describe('say it again after this long; null (default): never'),
  webhook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/, error: 'is no http(s) url' }),
      secretEnv: word.optional().describe('the variable that holds the secret which signs each call'),
    })
    .nullable()
    .optional(),
});

/** A prefix is whole tokens, and none under which anything but an answer may be expected. */
const replyPrefixSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/, 'is no prefix of a subject, such as _INBOX_app.')
  .refine((text) => text.split('.')[0] !== 'stopgate', 'is where entries and requests go: answers may not')
  .transform((text) => (text.endsWith('.') ? text : `${text}.`));

/** A port alone is a number, and what some editors make of `off` is false. */
const httpForm = z
  .union([z.string(), z.int(), z.literal(false)])
  .transform((value) => (value === false ? 'off' : String(value)))
  .refine((text) => httpSchema.safeParse(text).success, 'is no HOST:PORT, such as 127.0.0.1:4280 (or "off")');

const fileForm = z.strictObject({
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
  commands: z.record(idSchema, commandSchema).optional().describe('what command checks run, by name'),
  escalation: escalationSchema.nullable().optional(),
  releaseAfter: timerSchema
    .nullable()
    .optional()
    .describe("a stale worker's tasks go back to their queue after this long"),
  replyPrefixes: z.array(replyPrefixSchema).optional().describe('where answers may go beside _INBOX. and _R_.'),
});
type FileForm = z.output<typeof fileForm>;
/** For a JSON Schema. */
export const fileSchema: z.ZodType = fileForm;

/** What a person wrote, once it is known to be right. */
type RawForm = {
  readonly policies?: Record<string, { checks?: CheckForm[]; runner?: string; runners?: string[] }>;
  readonly assign?: { policy: string }[];
  readonly releaseAfter?: unknown;
};
type CheckForm = { readonly command?: string; readonly all?: CheckForm[]; readonly any?: CheckForm[] };

/**
 * @param path of the file: what stands in it is relative to its folder, and warnings begin with its name
 * `problems` come in the order of the file, 50 at most. An empty text is the default configuration.
 */
export function readConfigFile(text: string, path: string): ReadConfigFile {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: inOrder(yaml.problems.map((it) => ({ ...it, path: '' }))) };
  const { value, locate } = yaml;
  const result = fileForm.safeParse(value, { reportInput: true });
  const faults = result.success ? oversizeOf(value as RawForm) : describeFaults(result.error.issues, fileForm);
  if (!result.success || faults.length > 0) {
    const problems = faults.slice(0, problemsMax).map((it) => ({
      ...locate(it.path, it.part),
      path: it.path.map(String).join('.'),
      message: it.message,
    }));
    return { ok: false, problems: inOrder(problems) };
  }
  const raw = value as RawForm;
  const doubts = doubtsOf(raw, result.data);
  const warnings = doubts.map((doubt) => `${describePosition(locate(doubt.path), path)}: ${doubt.message}`);
  return { ok: true, file: toConfigFile(result.data, raw, dirname(resolve(path))), warnings, locate };
}

/** `stopgate.yaml:12:3` */
export function describePosition({ line, column }: Position, path: string): string {
  return `${basename(path)}:${line}:${column}`;
}

/** An alias gives the same problem at each of its uses: it is told once. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const told = new Map(problems.map((it) => [`${it.line}:${it.column}: ${it.message}`, it]));
  return [...told.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function toConfigFile(form: FileForm, raw: RawForm, folder: string): ConfigFile {
  const { escalation } = form;
  const commands = Object.entries(form.commands ?? {}).map(([name, it]) => [name, toCommand(it, folder)] as const);
  return Object.freeze({
    fleet: form.fleet ?? null,
    nats: form.nats ?? null,
    creds: form.creds === undefined ? null : resolve(folder, form.creds),
    http: form.http ?? null,
    replica: form.replica ?? null,
    policySet: {
      policies: form.policies ?? new Map(),
      assign: form.assign ?? [],
      releaseAfterMs: form.releaseAfter ?? null,
    },
    policyForm: policyFormOf(raw),
    roots: (form.roots ?? ['.']).map((root) => resolve(folder, root)),
    commands: Object.assign(Object.create(null), Object.fromEntries(commands)),
    escalation: escalation ? toEscalation(escalation) : null,
    replyPrefixes: form.replyPrefixes ?? [],
  });
}

function toCommand(
  { run, cwd, timeout, feedback, env }: z.output<typeof commandSchema>,
  folder: string,
): CommandConfig {
  return {
    run: run as [string, ...string[]],
    cwd: cwd === undefined || cwd === 'worker' ? 'worker' : resolve(folder, cwd),
    timeoutMs: timeout ?? commandTimeoutMs,
    feedback: feedback ?? 'tail',
    ...(env === undefined ? {} : { env }),
  };
}

function toEscalation({ remind, webhook }: z.output<typeof escalationSchema>): EscalationConfig {
  return {
    remindMs: remind ?? null,
    webhook: webhook ? { url: webhook.url, secretEnv: webhook.secretEnv ?? null } : null,
  };
}

function policyFormOf({ policies, assign, releaseAfter }: RawForm): PolicyForm | null {
  if (policies === undefined && assign === undefined && releaseAfter === undefined) return null;
  return {
    policies: policies ?? {},
    ...(assign === undefined ? {} : { assign }),
    ...(releaseAfter === undefined ? {} : { releaseAfter }),
  };
}

/** Policies go into the log as one entry, so they must fit into one. */
function oversizeOf(raw: RawForm): { path: Path; part: 'key'; message: string }[] {
  const bytes = Buffer.byteLength(JSON.stringify(policyFormOf(raw)));
  if (bytes <= payloadBytesMax) return [];
  const message = `policies and assign come to ${bytes} bytes; an entry of the log holds ${payloadBytesMax}`;
  return [{ path: [raw.policies === undefined ? 'assign' : 'policies'], part: 'key', message }];
}

type Doubt = { readonly path: Path; readonly message: string };

/** What is right by itself but names something that is not here. A policy with a runner names another's commands. */
function doubtsOf({ policies = {}, assign = [] }: RawForm, { commands = {} }: FileForm): Doubt[] {
  const checks = Object.entries(policies)
    .filter(([, policy]) => policy.runner === undefined && policy.runners === undefined)
    .flatMap(([name, policy]) => commandChecks(policy.checks ?? [], ['policies', name, 'checks']));
  const unknownCommands = checks
    .filter(({ command }) => !Object.hasOwn(commands, command))
    .map(({ path, command }) => ({ path, message: `the command "${command}" is not among commands` }));
  const unknownPolicies = assign.flatMap(({ policy }, index) =>
    policy === 'default' || Object.hasOwn(policies, policy)
      ? []
      : [
          {
            path: ['assign', index, 'policy'],
            message: `the policy "${policy}" is not among policies: default will hold`,
          },
        ],
  );
  return [...unknownCommands, ...unknownPolicies];
}

function commandChecks(checks: readonly CheckForm[], at: Path): { path: Path; command: string }[] {
  return checks.flatMap(({ command, all, any }, index) => [
    ...(command === undefined ? [] : [{ path: [...at, index, 'command'], command }]),
    ...commandChecks(all ?? [], [...at, index, 'all']),
    ...commandChecks(any ?? [], [...at, index, 'any']),
  ]);
}
