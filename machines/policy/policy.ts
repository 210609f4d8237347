/**
 * Policies (protocol 8): when a stop is allowed. `policySetSchema` reads what stands in the log and ignores keys it
 * does not know, so that an old replica folds a newer log; `strictPolicySetSchema` reads a person's file and refuses
 * them. Both give the same normal form: defaults filled in, durations in milliseconds, every check with its name.
 */
import { z } from 'zod';
import { idLengthMax } from '../values/id.ts';
import { durationSchema, idSchema } from '../values/schemas.ts';
import { type Condition, conditionSchema } from './condition.ts';
import { nestingDepth, nestingMax } from './nesting.ts';

const defaultIdleMs = 600_000;

/** Seed 004, Configurable Timeout Strategies: idle time until a worker may stop; null is never by itself. */
export const idleByProfile = {
  default: defaultIdleMs,
  critical: 1_800_000,
  temporary: 300_000,
  persistent: null,
} as const;
export type Profile = keyof typeof idleByProfile;
export const isProfile = (name: string): name is Profile => Object.hasOwn(idleByProfile, name);

export type OnError = 'allow' | 'block' | 'escalate';

type CheckKind =
  | { readonly kind: 'plan' }
  | { readonly kind: 'rules'; readonly rules: readonly string[] }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'remote'; readonly remote: string }
  | { readonly kind: 'all'; readonly of: readonly Check[] }
  | { readonly kind: 'any'; readonly of: readonly Check[] };
/** `timeoutMs` is how long its answer may take; null: 120 s. A member takes `onError` and `timeout` from its group. */
export type Check = CheckKind & {
  readonly name: string;
  readonly when: Condition | null;
  readonly onError: OnError;
  readonly timeoutMs: number | null;
};
export type EffectfulCheck = Extract<Check, { kind: 'files' | 'command' | 'remote' }>;

/** `idleMs` null: no timeout. `named`: from a profile, so that a worker's own profile may replace it. */
export type Persistence = {
  readonly idleMs: number | null;
  readonly named: boolean;
  readonly holdMs: number;
  readonly queue: string | null;
};

export type Policy = {
  readonly retries: number | null;
  readonly onCap: 'allow' | 'escalate';
  readonly stuckAfter: number | null;
  readonly promises: boolean;
  readonly keepAlives: number | null;
  /** Null: off. */
  readonly persistence: Persistence | null;
  readonly bypass: readonly string[];
  readonly stopWhenComplete: boolean;
  readonly steps: 'free' | 'gate';
  readonly checks: readonly Check[];
  readonly runner: string | null;
  readonly runners: readonly string[];
};

/** The idle time after which a worker may stop; null: persistence is off, or has no timeout. */
export function idleLimitOf({ persistence }: Policy, profile: string | null): number | null {
  // A profile replaces a named timeout, not one in figures; an unknown one is ignored.
  if (persistence?.named && profile !== null && isProfile(profile)) return idleByProfile[profile];
  return persistence?.idleMs ?? null;
}

export type Assignment = {
  readonly policy: string;
  readonly agent?: string | undefined;
  readonly worker?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
};

/** `releaseAfterMs`: how long a worker may be stale before its tasks go back to their queues; null: for ever. */
export type PolicySet = {
  readonly policies: ReadonlyMap<string, Policy>;
  readonly assign: readonly Assignment[];
  readonly releaseAfterMs: number | null;
};

type ObjectMaker = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.ZodObject<Shape>;
const schemas = {
  loose: createSchemas((shape) => z.object(shape)),
  strict: createSchemas((shape) => z.strictObject(shape) as never),
};

/** What `policy.set` carries. Unknown keys are ignored. */
export const policySetSchema: z.ZodType<PolicySet> = schemas.loose.policySet;
/** What stands under `policies:` of a configuration. Unknown keys are errors. */
export const strictPoliciesSchema = schemas.strict.policies;
export const strictAssignSchema = schemas.strict.assign;
/** The form that a person writes, for a JSON Schema. */
export const policyFormSchema = schemas.strict.policyForm;

function createPolicyForm(object: ObjectMaker) {
  const checkForm = createCheckForm(object);
  const persistenceForm = z.union([
    z.enum(['off', 'default', 'critical', 'temporary', 'persistent']),
    z.literal(false).describe('the same as off'),
    object({
      idle: durationSchema.nullable().optional().describe('idle time until a worker may stop; null: never'),
      hold: durationSchema.optional().describe('how long a stop is kept open to wait for a task'),
      queue: idSchema.optional(),
    }),
  ]);
  return object({
    retries: z
      .int()
      .nonnegative()
      .nullable()
      .optional()
      .describe('blocked stops before the stop is allowed; null: no cap'),
    onCap: z.enum(['allow', 'escalate']).optional(),
    stuckAfter: z.int().positive().nullable().optional().describe('escalate after n identical failures'),
    promises: z.boolean().optional().describe('read <promise>ESCALATE</promise> and BLOCKED from the output'),
    keepAlives: z.int().nonnegative().nullable().optional().describe('blocks that keep a worker alive; null: no cap'),
    persistence: persistenceForm.optional(),
    bypass: z.array(z.string().min(1)).optional().describe('stop reasons that are not judged'),
    stopWhenComplete: z.boolean().optional(),
    steps: z.enum(['free', 'gate']).optional(),
    checks: z.array(checkForm).optional().describe('in order; all must pass; the first that fails decides'),
    runner: idSchema.optional().describe('the "stopgate runner" for command and files checks; default: the service'),
    runners: z
      .array(idSchema)
      .optional()
      .describe("the one of these runners that the worker's label runner names; without it the check is in error"),
  });
}

function createSchemas(object: ObjectMaker) {
  const policyForm = createPolicyForm(object);
  const assign = z.array(
    object({
      policy: idSchema,
      agent: z.string().min(1).optional(),
      worker: idSchema.optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
  );
  const policies = z
    .record(idSchema, policyForm.transform(normalizePolicy))
    .transform((it) => new Map(Object.entries(it)));
  const policySet = z
    .object({ policies, assign: assign.optional(), releaseAfter: durationSchema.nullable().optional() })
    .transform(
      ({ policies: found, assign: rows, releaseAfter }): PolicySet => ({
        policies: found,
        assign: rows ?? [],
        releaseAfterMs: releaseAfter ?? null,
      }),
    );
  return { policyForm, policies, assign, policySet };
}

export type CheckForm = {
  plan?: object | null | undefined;
  rules?: string[] | undefined;
  files?: string[] | undefined;
  command?: string | undefined;
  remote?: string | undefined;
  all?: CheckForm[] | undefined;
  any?: CheckForm[] | undefined;
  name?: string | undefined;
  when?: Condition | undefined;
  onError?: OnError | undefined;
  timeout?: number | undefined;
};
const kinds = ['plan', 'rules', 'files', 'command', 'remote', 'all', 'any'] as const;

function createCheckForm(object: ObjectMaker): z.ZodType<CheckForm> {
  const names = z.array(z.string().min(1)).min(1);
  const form: z.ZodType<CheckForm> = z.lazy(() =>
    object({
      plan: object({}).nullable().optional().describe('every step of the plan is done'),
      rules: names.optional().describe("of the attempt's validation"),
      files: names.optional().describe("paths that must exist under the worker's folder"),
      command: idSchema.optional().describe("a command of the runner's own configuration"),
      remote: idSchema.optional().describe('asks stopgate.<fleet>.check.<name>'),
      all: z.array(form).min(1).optional(),
      any: z.array(form).min(1).optional(),
      name: idSchema.optional(),
      when: conditionSchema(object).optional(),
      onError: z.enum(['allow', 'block', 'escalate']).optional(),
      timeout: durationSchema.optional(),
    }).superRefine((check, context) => {
      const given = kinds.filter((kind) => check[kind] !== undefined);
      if (given.length !== 1) {
        const got = given.length === 0 ? 'none' : given.join(' and ');
        context.addIssue({ code: 'custom', message: `a check is one of ${kinds.join(', ')}; this has ${got}` });
      } else if (nestingDepth(check as CheckForm, (it) => it.all ?? it.any) > nestingMax) {
        context.addIssue({ code: 'custom', message: `all and any may nest ${nestingMax} deep` });
      }
    }),
  ) as never;
  return form;
}

type PolicyForm = z.infer<ReturnType<typeof createPolicyForm>>;

function normalizePolicy(form: PolicyForm): Policy {
  const taken = new Set<string>();
  return Object.freeze({
    retries: form.retries === undefined ? 3 : form.retries,
    onCap: form.onCap ?? 'allow',
    stuckAfter: form.stuckAfter ?? null,
    promises: form.promises ?? false,
    keepAlives: form.keepAlives ?? null,
    persistence: normalizePersistence(form.persistence),
    bypass: form.bypass ?? ['budget_exhausted', 'deadline_exceeded', 'user_interrupt'],
    stopWhenComplete: form.stopWhenComplete ?? false,
    steps: form.steps ?? 'free',
    checks: (form.checks ?? []).map((check) => normalizeCheck(check, taken, { onError: 'allow', timeoutMs: null })),
    runner: form.runner ?? null,
    runners: form.runners ?? [],
  });
}

function normalizePersistence(form: PolicyForm['persistence']): Persistence | null {
  if (form === undefined || form === 'off' || form === false) return null;
  if (typeof form === 'string') return { idleMs: idleByProfile[form], named: true, holdMs: 0, queue: null };
  // `{ hold }` alone has the default's ten minutes, which a profile may replace; figures are final.
  const idleMs = form.idle === undefined ? defaultIdleMs : form.idle;
  return { idleMs, named: form.idle === undefined, holdMs: form.hold ?? 0, queue: form.queue ?? null };
}

function normalizeCheck(form: CheckForm, taken: Set<string>, group: Pick<Check, 'onError' | 'timeoutMs'>): Check {
  const kind = kinds.find((it) => form[it] !== undefined) as (typeof kinds)[number];
  const name = freeName(form.name ?? form.command ?? form.remote ?? kind, taken);
  const shared = {
    name,
    when: form.when ?? null,
    onError: form.onError ?? group.onError,
    timeoutMs: form.timeout ?? group.timeoutMs,
  };
  if (kind === 'plan') return { ...shared, kind };
  if (kind === 'rules') return { ...shared, kind, rules: form.rules ?? [] };
  if (kind === 'files') return { ...shared, kind, files: form.files ?? [] };
  if (kind === 'command') return { ...shared, kind, command: form.command ?? '' };
  if (kind === 'remote') return { ...shared, kind, remote: form.remote ?? '' };
  return { ...shared, kind, of: (form[kind] ?? []).map((member) => normalizeCheck(member, taken, shared)) };
}

/** The second of a name in the policy's order, depth first, is `<name>-2`, and so on. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) {
    const suffix = `-${count}`;
    free = name.slice(0, idLengthMax - suffix.length) + suffix;
  }
  taken.add(free);
  return free;
}

/** The policy that holds where none was ever set, and for a set without a `default`. */
export const builtInPolicy: Policy = normalizePolicy({});
