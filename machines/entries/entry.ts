/**
 * Entries: everything that may stand in a fleet's log (protocol 3), one schema each. These schemas are the single
 * source of the types, of validation at every edge and of the exported JSON Schema. Unknown fields are ignored here
 * and kept in the log.
 */
import { z } from 'zod';
import { conditionSchema } from '../policy/condition.ts';
import { stepsSchema } from '../policy/plan.ts';
import { nestingMax, policySetSchema } from '../policy/policy.ts';
import { promiseNames, promiseSchema } from '../policy/promise.ts';
import { isId } from '../values/id.ts';
import { idSchema, isoTimeSchema } from '../values/schemas.ts';

/** A constant, since all replicas must agree on what is refused. */
export const payloadBytesMax = 65_536;
export const filesMax = 5_000;
export const hooksMax = 64;
/** Objects and arrays within each other. Deeper, a walk over the fields could end the stack of whoever folds them. */
export const jsonDepthMax = 100;

const word = z.string().min(1);
const files = z.array(word).max(filesMax);
const none = z.object({});

export const validationSchema = z.array(z.object({ rule: word, passed: z.boolean(), message: z.string().optional() }));
export type Validation = z.infer<typeof validationSchema>;

/** The fields of `stop.attempted`, and so the body of `decide`, `probe` and `verify`. */
export const attemptSchema = z.object({
  attempt: idSchema.optional(),
  stopReason: z.string().optional(),
  output: z.string().optional(),
  toolCount: z.int().nonnegative().optional(),
  files: files.optional(),
  validation: validationSchema.optional(),
  promises: z.array(promiseSchema).optional(),
  draft: z.object({ content: z.string().optional(), type: z.string().optional() }).optional(),
  holdMs: z.int().nonnegative().optional(),
});
export type AttemptFields = z.infer<typeof attemptSchema>;

export const hookTypes = [
  'default',
  'validation',
  'promise',
  'remote',
  'all',
  'any',
  'tdd',
  'security',
  'checkpoint',
] as const;
export type HookForm = {
  type: (typeof hookTypes)[number];
  of?: HookForm[] | undefined;
  name?: string | undefined;
  when?: z.infer<ReturnType<typeof conditionSchema>> | undefined;
  onError?: 'escalate' | 'skip' | undefined;
  metadata?: Record<string, unknown> | undefined;
};
const hookFields = {
  type: z.enum(hookTypes),
  get of() {
    return z.array(hookForm).min(1).optional();
  },
  name: idSchema.optional(),
  when: conditionSchema((shape) => z.object(shape)).optional(),
  onError: z.enum(['escalate', 'skip']).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
};
const hookForm: z.ZodType<HookForm> = z.lazy(() => z.object(hookFields).superRefine(checkHook)) as never;

function checkHook(hook: HookForm, context: z.RefinementCtx): void {
  const groups = hook.type === 'all' || hook.type === 'any';
  const fault =
    groups && hook.of === undefined
      ? `type "${hook.type}" needs "of"`
      : hook.type === 'remote' && hook.name === undefined
        ? 'type "remote" needs "name"'
        : hookDepth(hook) > nestingMax
          ? `hooks may nest ${nestingMax} deep`
          : null;
  if (fault !== null) context.addIssue({ code: 'custom', message: fault });
}
const hookDepth = (hook: HookForm): number => (hook.of === undefined ? 0 : 1 + Math.max(...hook.of.map(hookDepth)));

const iteration = z.int().positive();

export const entrySchemas = {
  worker: {
    'worker.registered': z.object({
      agent: word.optional(),
      profile: word.optional(),
      policy: idSchema.optional(),
      queue: idSchema.optional(),
      parent: idSchema.optional(),
      cwd: word.optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
    'heartbeat.sent': none,
    'prompt.submitted': z.object({ text: z.string().optional() }),
    'tool.used': z.object({
      tool: word,
      ok: z.boolean().optional(),
      files: files.optional(),
      call: z.string().optional(),
    }),
    'plan.updated': z.object({ steps: stepsSchema }),
    'step.updated': z.object({ step: idSchema, title: z.string().optional(), status: z.string().optional() }),
    'task.claimed': z.object({ task: idSchema }),
    'task.completed': z.object({ task: idSchema, result: z.unknown().optional() }),
    'task.failed': z.object({ task: idSchema, reason: z.string().optional() }),
    'task.released': z.object({ task: idSchema }),
    'background.started': z.object({ id: word, kind: z.string().optional() }),
    'background.finished': z.object({ id: word, kind: z.string().optional() }),
    'input.requested': z.object({ kind: z.string().optional(), message: z.string().optional() }),
    'input.received': z.object({ kind: z.string().optional(), message: z.string().optional() }),
    'limit.reached': z.object({ scope: word.optional(), until: isoTimeSchema.optional() }),
    'limit.cleared': z.object({ scope: word.optional(), until: isoTimeSchema.optional() }),
    'budget.exhausted': z.object({ kind: z.string().optional() }),
    'stop.attempted': attemptSchema,
    'session.ended': z.object({ reason: z.string().optional() }),
  },
  task: {
    'task.created': z.object({
      title: z.string().optional(),
      queue: idSchema.optional(),
      plan: stepsSchema.optional(),
      policy: idSchema.optional(),
      after: z.array(idSchema).optional(),
    }),
    'task.cancelled': z.object({ reason: z.string().optional() }),
    'hook.registered': z
      .object({ ...hookFields, hook: idSchema.optional(), enabled: z.boolean().optional() })
      .superRefine(checkHook),
    'hook.enabled': z.object({ hook: idSchema }),
    'hook.disabled': z.object({ hook: idSchema }),
    'hooks.cleared': none,
    'iteration.started': z.object({
      iteration,
      maxIterations: iteration,
      completionPromises: z.array(z.enum(promiseNames)).optional(),
      rules: z.array(word).optional(),
      breakers: z.object({ failures: z.int().positive().optional() }).optional(),
    }),
    'iteration.validated': attemptSchema.extend({ iteration }),
    'iteration.advanced': none,
    'iteration.completed': z.object({ iteration, promise: z.enum(promiseNames) }),
    'checkpoint.saved': z.object({
      checkpoint: idSchema,
      phase: z.string().optional(),
      step: z.union([z.string(), z.number()]).optional(),
      context: z.unknown().optional(),
    }),
  },
  queue: {
    'depth.reported': z.object({ pending: z.int().nonnegative() }),
  },
  ownWorker: {
    'attempt.accepted': attemptAccepted(),
    'check.finished': checkFinished(),
    'timer.fired': z.object({ timer: word, attempt: idSchema.optional() }),
    'escalation.acknowledged': z.object({ by: word }),
    'escalation.resolved': z.object({ by: word, verdict: z.enum(['resume', 'stop']), prompt: z.string().optional() }),
    'escalation.notified': escalationNotified(),
    'worker.retired': z.object({ by: word }),
  },
  ownTask: {
    'attempt.accepted': attemptAccepted(),
    'check.finished': checkFinished(),
    'timer.fired': z.object({ timer: word, attempt: idSchema.optional() }),
    'escalation.acknowledged': z.object({ by: word }),
    'escalation.resolved': z.object({ by: word, verdict: z.enum(['resume', 'stop']), prompt: z.string().optional() }),
    'escalation.notified': escalationNotified(),
  },
  ownFleet: {
    'replica.joined': z.object({ replica: idSchema }),
    'replica.left': z.object({ replica: idSchema }),
    'policy.set': policySetSchema,
  },
} as const;

/** `from`: the silent owner whose place is taken, so that of two who saw it only the first does. */
function attemptAccepted() {
  return z.object({ attempt: idSchema, replica: idSchema, from: idSchema.optional() });
}

/**
 * Ours alone, beside protocol 3: somebody was told of an escalation, so that nobody is told the same again after a
 * restart or by another replica. `count`: the how-manieth notice; `delivery`: its name, which must be the next one's.
 */
function escalationNotified() {
  return z.object({ count: z.int().positive(), delivery: word });
}

function checkFinished() {
  return z.object({
    attempt: idSchema,
    check: idSchema,
    outcome: z.enum(['pass', 'fail', 'error', 'timeout']),
    reason: z.string().optional(),
    feedback: z.unknown().optional(),
    tookMs: z.number().nonnegative().optional(),
    action: z.enum(['complete', 'continue', 'escalate']).optional(),
    nextPrompt: z.string().optional(),
    checkpointData: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  });
}
export type CheckResult = z.infer<ReturnType<typeof checkFinished>>;

type Area = keyof typeof entrySchemas;
type EntryOf<A extends Area> = {
  [T in keyof (typeof entrySchemas)[A]]: {
    readonly area: A;
    readonly fleet: string;
    readonly id: string;
    readonly type: T;
    readonly data: (typeof entrySchemas)[A][T] extends z.ZodType<infer Data> ? Data : never;
  };
}[keyof (typeof entrySchemas)[A]];

export type WorkerEntry = EntryOf<'worker'>;
export type TaskEntry = EntryOf<'task'>;
export type QueueEntry = EntryOf<'queue'>;
export type OwnWorkerEntry = EntryOf<'ownWorker'>;
export type OwnTaskEntry = EntryOf<'ownTask'>;
export type OwnFleetEntry = EntryOf<'ownFleet'>;
export type Entry = WorkerEntry | TaskEntry | QueueEntry | OwnWorkerEntry | OwnTaskEntry | OwnFleetEntry;

/** Why a payload is no entry; the body of a dead letter without its place in the log. */
export type Refusal = {
  readonly code: 'NOT_JSON' | 'TOO_LARGE' | 'BAD_ID' | 'UNKNOWN_TYPE' | 'BAD_SHAPE';
  readonly message: string;
  readonly issues: readonly Issue[];
  /** Where its dead letter goes: entity and id, `_` for what is missing or no id. */
  readonly entity: string;
  readonly id: string;
};
export type Issue = { readonly path: string; readonly message: string };

export type Address = { readonly area: Area; readonly fleet: string; readonly id: string; readonly type: string };

/**
 * Reads one entry. `text` is the payload as it came ('' means `{}`), `bytes` its size on the wire.
 * A subject of the log that carries no entry (`decision`, `dead`) gives null.
 */
export function readEntry(subject: string, text: string, bytes: number): Entry | Refusal | null {
  const address = readSubjectOnce(subject);
  if (address === null || 'code' in address) return address;
  if (bytes > payloadBytesMax) {
    const message = `the payload has ${bytes} bytes; the limit is ${payloadBytesMax}`;
    return refuse('TOO_LARGE', message, [], address.area, address.id);
  }
  const parsed = readJson(text);
  if (!parsed.ok) return refuse('NOT_JSON', parsed.message, [], address.area, address.id);
  // A level takes two characters at least, so that a short text needs no look.
  if (bytes > 2 * jsonDepthMax && isTooDeep(parsed.value))
    return refuse('BAD_SHAPE', tooDeepWords, [], address.area, address.id);
  return readShape(address, parsed.value);
}

/** The same for fields that are parsed already. */
export function readFields(address: Address, fields: unknown): Entry | Refusal {
  if (isTooDeep(fields)) return refuse('BAD_SHAPE', tooDeepWords, [], address.area, address.id);
  return readShape(address, fields);
}

function readShape(address: Address, fields: unknown): Entry | Refusal {
  const schema = (entrySchemas[address.area] as Record<string, z.ZodType>)[address.type] as z.ZodType;
  const result = schema.safeParse(fields);
  const { area, fleet, id, type } = address;
  if (result.success) return { area, fleet, id, type, data: result.data } as Entry;
  const issues = toIssues(result.error);
  const badId = issues.some((issue) => issue.message.startsWith('is no id'));
  return refuse(badId ? 'BAD_ID' : 'BAD_SHAPE', describeIssues(issues), issues, address.area, address.id);
}

export const tooDeepWords = `objects and arrays may nest ${jsonDepthMax} deep`;

export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth >= jsonDepthMax) return true;
  for (const member of Object.values(value)) if (isTooDeep(member, depth + 1)) return true;
  return false;
}

/** An object in JSON, '' standing for `{}`. */
export function readJson(text: string): { ok: true; value: object } | { ok: false; message: string } {
  if (text === '') return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ok: true, value };
    return { ok: false, message: 'the payload is JSON but no object' };
  } catch (error) {
    return { ok: false, message: `the payload is no JSON: ${(error as Error).message}` };
  }
}

const addresses = new Map<string, Address>();
const addressesMax = 20_000;

/** Subjects come again and again, so what they say is kept. */
function readSubjectOnce(subject: string): Address | Refusal | null {
  const known = addresses.get(subject);
  if (known !== undefined) return known;
  const read = readSubject(subject);
  if (read === null || 'code' in read) return read;
  if (addresses.size >= addressesMax) addresses.clear();
  addresses.set(subject, read);
  return read;
}

/** Null: a subject of the service's own output (`decision`, `dead`), which is no entry. */
export function readSubject(subject: string): Address | Refusal | null {
  const [root, fleet = '', head = '', ...tail] = subject.split('.');
  if (head === 'decision' || head === 'dead') return null;
  const own = head === 'own';
  const [entity = '', id = '', noun = '', verb = '', ...more] = own ? tail : [head, ...tail];
  const refuseAs = (code: Refusal['code'], message: string) =>
    refuse(code, message, [], isId(entity) ? entity : '_', isId(id) ? id : '_');
  const area = (own ? ownAreas : areas).get(entity);
  if (root !== 'stopgate' || area === undefined)
    return refuseAs('UNKNOWN_TYPE', `'${subject}' is no subject of an entry`);
  if (!isId(fleet)) return refuseAs('BAD_ID', `'${fleet}' is no id of a fleet`);
  if (!isId(id)) return refuseAs('BAD_ID', `'${id}' is no id of a ${entity}`);
  const type = `${noun}.${verb}`;
  if (more.length > 0 || !Object.hasOwn(entrySchemas[area], type)) {
    const known = Object.keys(entrySchemas[area]).join(', ');
    const got = [noun, verb, ...more].filter((token) => token !== '').join('.');
    return refuseAs('UNKNOWN_TYPE', `'${got}' is no entry about a ${entity}; these are: ${known}`);
  }
  if (area === 'ownFleet' && id !== fleet) return refuseAs('BAD_ID', `'${id}' is not this fleet, '${fleet}'`);
  return { area, fleet, id, type };
}

// Maps, since the token is the sender's: `constructor` is no area.
const areas: ReadonlyMap<string, Area> = new Map([
  ['worker', 'worker'],
  ['task', 'task'],
  ['queue', 'queue'],
]);
const ownAreas: ReadonlyMap<string, Area> = new Map([
  ['worker', 'ownWorker'],
  ['task', 'ownTask'],
  ['fleet', 'ownFleet'],
]);
const entities: ReadonlyMap<string, string> = new Map([
  ['worker', 'worker'],
  ['task', 'task'],
  ['queue', 'queue'],
  ['ownWorker', 'worker'],
  ['ownTask', 'task'],
  ['ownFleet', 'fleet'],
]);

/** `stopgate.<fleet>.worker.<id>.<noun>.<verb>`, with `own.` where only replicas and operators may publish. */
export function subjectOf(entry: Address): string {
  const own = entry.area.startsWith('own') ? 'own.' : '';
  return `stopgate.${entry.fleet}.${own}${entities.get(entry.area)}.${entry.id}.${entry.type}`;
}

function refuse(code: Refusal['code'], message: string, issues: readonly Issue[], place: string, id: string): Refusal {
  return { code, message, issues, entity: entities.get(place) ?? place, id };
}

export function toIssues(error: z.ZodError): Issue[] {
  return error.issues.slice(0, 20).map((issue) => ({ path: issue.path.map(String).join('.'), message: issue.message }));
}

export function describeIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}
