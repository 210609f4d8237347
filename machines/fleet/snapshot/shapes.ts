/**
 * The shapes of everything that a snapshot may hold (protocol.md §15). Who may write where snapshots are stored can
 * forge one with a right digest, so its values are judged before anything is folded on them. Unknown keys are of a
 * later release, and pass.
 */
import { z } from 'zod';
import { decisionSchema, guardNames, verdictSchema } from '../../guards/decision.ts';
import type { CheckOf, CheckSettings, Kind } from '../../policy/checks/check.ts';
import { feedbackSchema } from '../../policy/checks/check-result.ts';
import { conditionSchema } from '../../policy/condition.ts';
import type { Policy } from '../../policy/policy.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { TaskContext } from '../../task/context.ts';
import { looseObject } from '../../values/schemas.ts';
import { presences, workerStates } from '../../values/states.ts';
import type { WorkerContext } from '../../worker/context.ts';
import type { TaskRecord, WorkerRecord } from '../records.ts';

/** The meaning of the numbers in a worker's text. Each snapshot contains it, so that other releases can read it. */
export type Legend = {
  readonly states: readonly string[];
  readonly presences: readonly string[];
  readonly fields: readonly string[];
  /** The most frequent events. */
  readonly events: readonly string[];
};

/** A key that is missing here does not compile. */
type Shape<Value> = { readonly [Key in keyof Required<Value>]: z.ZodType };

const text = z.string();
const number = z.number();
const count = z.int().nonnegative();
/** Milliseconds of which a date can be made. */
const time = z.number().min(-8.64e15).max(8.64e15);
const flag = z.boolean();
const texts = z.array(text);
const labels = z.record(text, text);
const object = z.looseObject;
const jsonText = text.refine(isJson, 'is no JSON');
const plan = z.array(object({ title: text, status: text, step: text.optional(), task: text.optional() }));
const used = { tokens: number, nanoUsd: number, turns: number };

/** Policies in their normal form. */
function createPolicyShapes() {
  const checks: z.ZodType = z.lazy(() => z.array(check));
  const settings = {
    name: text,
    base: text,
    when: conditionSchema(looseObject).nullable(),
    onFail: text,
    onError: text,
    timeoutMs: number.nullable(),
  } satisfies Shape<CheckSettings>;
  const fields: { readonly [K in Kind]: Shape<Omit<CheckOf<K>, keyof CheckSettings | 'kind'>> } = {
    plan: { required: flag },
    rules: { rules: texts },
    files: { files: texts },
    ran: { commands: texts, since: z.enum(['change', 'prompt', 'claim']) },
    git: { clean: flag, pushed: flag, unchanged: texts, since: text.nullable() },
    command: { command: text },
    remote: { remote: text },
    all: { of: checks },
    any: { of: checks },
  };
  const check: z.ZodType = z.union(
    Object.entries(fields).map(([kind, own]) => object({ ...settings, kind: z.literal(kind), ...own })),
  );
  const policy = object({
    retries: number.nullable(),
    onCap: text,
    stuckAfter: object({ times: number, mask: flag }).nullable(),
    promises: flag,
    keepAlives: number.nullable(),
    onBudget: text,
    bypass: texts,
    askMs: number.nullable(),
    persistence: object({ idleMs: number.nullable(), named: flag, holdMs: number, queue: text.nullable() }).nullable(),
    background: object({ maxMs: number.nullable(), ignore: texts, onStop: z.enum(['allow', 'block']).nullable() }),
    pause: z.enum(['allow', 'deny']),
    budget: object({
      tokens: number.nullable(),
      usd: number.nullable(),
      turns: number.nullable(),
      timeMs: number.nullable(),
      per: z.enum(['session', 'prompt', 'task']),
    }).nullable(),
    toolTimeMs: number,
    onStale: text,
    stopWhenComplete: flag,
    steps: text,
    failures: text,
    checks,
    runner: text.nullable(),
    runners: texts,
  } satisfies Shape<Policy>);
  const policySet = object({
    policies: z.array(z.tuple([text, policy])),
    assign: z.array(
      object({ policy: text, agent: text.optional(), worker: text.optional(), labels: labels.optional() }),
    ),
    budget: object({ tokens: number.nullish(), usd: number.nullish() }).nullable(),
    releaseAfterMs: number.nullable(),
    forgetMs: number.nullable(),
    waitingMs: number.nullable(),
    unattendedMs: number.nullable(),
  } satisfies Shape<PolicySet>);
  return { check, policy, policySet };
}

/** Makes the shapes of what workers and tasks both keep. */
function createCommonShapes() {
  const period = object({ ...used, sinceMs: time, granted: object({ ...used, atMs: time }).nullable() });
  const noticed = {
    acknowledgedBy: text.nullable(),
    acknowledgedAt: text.nullable(),
    notified: count,
    notifiedAt: text.nullable(),
  };
  const overdue = object({ since: text, ...noticed });
  const escalation = object({
    seq: count,
    since: text,
    reason: text,
    cause: text,
    budget: text.optional(),
    attempt: text.nullable(),
    worker: text,
    ...noticed,
  });
  const refused = z.array(object({ at: text, seq: count, type: text, reason: text }));
  const hookRun = object({ hook: text, type: text, action: text, reason: text, failed: flag, tookMs: number });
  const judgedTasks = z.array(
    object({
      task: text,
      runs: z.array(hookRun),
      checkpoint: object({ data: jsonText.nullable() }).nullable(),
    }),
  );
  const hookResults = z.record(
    text,
    object({ outcome: text, checkpointData: jsonText.nullable(), metadata: jsonText.nullable() }),
  );
  const iteration = object({
    iteration: number,
    maxIterations: number,
    completionPromises: texts.nullable(),
    rules: texts.nullable(),
    failuresMax: number.nullable(),
    completed: flag,
    failures: number,
    failed: flag,
  });
  const hookForm: z.ZodType = object({
    type: text,
    name: text.optional(),
    when: conditionSchema(looseObject).optional(),
    onError: text.optional(),
    get of(): z.ZodOptional<z.ZodArray<z.ZodType>> {
      return z.array(hookForm).optional();
    },
  });
  const hooks = z.array(object({ hook: text, enabled: flag, form: hookForm, metadata: jsonText.nullable() }));
  const validation = z.array(object({ rule: text, passed: flag, message: text.optional() }));
  const promise = object({ type: text, detected: flag, content: text, detectedAt: text.optional() });
  const attemptFields = object({
    stopReason: text.optional(),
    output: text.optional(),
    toolCount: number.optional(),
    files: texts.optional(),
    promises: z.array(promise).optional(),
    holdMs: time.optional(),
    validation: validation.optional(),
    draft: object({}).optional(),
  });
  return { period, escalation, overdue, refused, hookRun, judgedTasks, iteration, hooks, attemptFields, hookResults };
}

type Common = ReturnType<typeof createCommonShapes>;
type Policies = ReturnType<typeof createPolicyShapes>;

function createAttemptShape(
  { period, judgedTasks, iteration, hooks, attemptFields, hookResults }: Common,
  { check, policy }: Policies,
) {
  const finding = object({
    kind: z.enum(['pass', 'skip', 'entered', 'fail', 'error', 'escalate', 'warn']),
    message: text.optional(),
    feedback: feedbackSchema.partial({ details: true }).nullish(),
  }).refine(
    ({ kind, message }) => ['pass', 'skip', 'entered'].includes(kind) || message !== undefined,
    'has no message',
  );
  const attempt = object({
    attempt: text,
    seq: count,
    atMs: time,
    fields: attemptFields,
    inForce: object({ name: text, seq: count, policy: policy, notes: texts }),
    idleLimitMs: number.nullable(),
    holdUntilMs: number,
    facts: object({
      nowMs: time,
      limited: flag,
      queue: text,
      pendingTasks: count,
      nextTasks: z.array(object({ task: text, title: text.nullable() })),
      tasks: z.array(
        object({ task: text, hooks, iteration: iteration.nullable(), phase: text.nullable(), usage: period }),
      ),
      day: object({ budget: object({}), used: object({ tokens: number, nanoUsd: number }) }).nullable(),
    }),
    guard: z.enum(guardNames),
    verdicts: z.array(verdictSchema),
    isHeld: flag,
    judgedTasks,
    feedback: z.array(feedbackSchema.partial({ details: true })),
    findings: z.record(text, finding),
    hookResults,
    pending: object({
      number: count,
      name: text,
      sinceMs: time,
      startedMs: time.nullable(),
      timeoutMs: number,
      deadlineMs: time,
      by: z.enum(['checks', 'hooks']),
      check: check.optional(),
      task: text.optional(),
      key: text.optional(),
      remote: text.optional(),
    })
      .refine(({ by, check: it, task, key, remote }) =>
        by === 'checks' ? it !== undefined : task !== undefined && key !== undefined && remote !== undefined,
      )
      .nullable(),
    pendingCount: count,
    waitedMs: object({ checks: number, hooks: number }),
  });
  return attempt;
}

const state = z.enum(workerStates);
const presence = z.enum(presences);
const record = {
  namedMs: time,
  stoppedMs: time.nullable(),
  isForgetArmed: flag,
  lastMove: object({ from: state, to: state, event: text, atMs: time }).nullable(),
};

function createWorkerShape(common: Common, policies: Policies) {
  const { period, escalation, overdue, refused, judgedTasks } = common;
  const attempt = createAttemptShape(common, policies);
  const workerContext = object({
    worker: text,
    fleet: text,
    labels,
    ended: z.enum(['ended', 'retired']).nullable(),
    escalation: escalation.nullable(),
    budgetExhausted: flag,
    usage: object({ session: period, prompt: period }),
    background: z.array(object({ id: text, kind: text.nullable(), command: text.nullable(), sinceMs: time })),
    pause: object({ by: text, sinceMs: time, untilMs: time.nullable() }).nullable(),
    interactive: flag.nullable(),
    awaitsInput: flag,
    retryCount: count,
    keepAlives: count,
    failureStreak: object({ reason: text, count }).nullable(),
    plan,
    files: texts,
    tasks: texts,
    activeMs: time,
    agent: text.nullable(),
    profile: text.nullable(),
    policy: text.nullable(),
    queue: text.nullable(),
    filesUnknown: flag,
    commands: z.array(object({ command: text, seq: count, ok: flag })),
    lastChange: object({ seq: count, file: text }).nullable(),
    promptedSeq: count.nullable(),
    claimedSeq: count.nullable(),
    usageSource: text.nullable(),
    parent: text.nullable(),
    cwd: text.nullable(),
    toolCount: number,
    filesBytes: number,
    filesDropped: number,
    limit: object({ untilMs: time.nullable() }).nullable(),
    scopes: texts,
    attempt: attempt.nullable(),
    lastDecision: decisionSchema.extend({ feedback: z.array(feedbackSchema.partial({ details: true })) }).nullable(),
    lastDisposition: z.enum(['completed', 'blocked', 'escalated', 'released', 'held']),
    lastJudgedTasks: judgedTasks,
    heldAtEnd: texts,
    refused,
    calls: z.array(object({ tool: text, call: text.nullable(), atMs: time, untilMs: time })),
    inputs: z.array(
      object({
        request: text.nullable(),
        kind: text.nullable(),
        message: text.nullable(),
        tool: text.nullable(),
        detail: text.nullable(),
        since: text,
        seq: count,
        overdue: overdue.optional(),
      }),
    ),
    lastAnswer: object({
      request: text,
      verdict: z.enum(['allow', 'deny']),
      message: text.nullable(),
      by: text,
      at: text,
    }).nullable(),
    resolution: object({
      at: text,
      by: text,
      verdict: z.enum(['resume', 'stop']),
      prompt: text.nullable(),
    }).nullable(),
  } satisfies Shape<WorkerContext>);
  const worker = object({
    ...record,
    snapshot: object({ value: object({ state, presence }), context: object({ worker: workerContext }) }).refine(
      ({ value, context }) => value.state !== 'validating' || context.worker.attempt !== null,
      'validates no attempt',
    ),
    lastSeenMs: time,
    staleArmed: flag,
    wakeMs: time.nullable(),
    owner: text.nullable(),
    accepted: flag,
    attends: text.nullable(),
    known: z.array(count).nullable(),
    presenceFrom: presence.nullable(),
    limitEndedMs: time.nullable(),
  } satisfies Shape<WorkerRecord>);
  return worker;
}

function createTaskShape({
  period,
  escalation,
  refused,
  hookRun,
  iteration,
  hooks,
  attemptFields,
  hookResults,
}: Common) {
  const evaluation = object({
    attempt: text,
    seq: count,
    owner: text.nullable(),
    iteration,
    fields: attemptFields,
    results: hookResults,
    pending: object({ number: count, key: text, name: text, deadlineMs: time }),
  });
  const judged = object({
    attempt: text,
    result: object({ hookId: text, action: text, reason: text }),
    runs: z.array(hookRun),
  });
  const hookStats = object({
    hook: text,
    type: text,
    asked: number,
    complete: number,
    continue: number,
    escalate: number,
    skip: number,
    errors: number,
    tookMs: number,
    last: object({ at: text, attempt: text.nullable(), action: text, reason: text }),
  });
  const checkpoint = object({
    checkpoint: text,
    at: text,
    phase: text.nullable(),
    step: z.union([text, number]).nullable(),
    context: jsonText,
  });
  const taskContext = object({
    fleet: text,
    task: text,
    title: text.nullable(),
    queue: text.nullable(),
    plan: plan.nullable(),
    policy: text.nullable(),
    after: texts,
    priority: number,
    worker: text.nullable(),
    request: text.nullable(),
    outcome: z.enum(['completed', 'cancelled']).nullable(),
    hooks,
    hookStats: z.array(hookStats),
    iteration: iteration.nullable(),
    checkpoints: z.array(checkpoint),
    evaluations: z.array(evaluation),
    validated: z.array(judged),
    refused,
    escalation: escalation.extend({ withWorker: flag }).nullable(),
    usage: period,
  } satisfies Shape<TaskContext>);
  const task = object({
    ...record,
    snapshot: object({ value: state, context: taskContext }),
    judged: object({ worker: text, attempt: text, seq: count.nullable() }).nullable(),
    createdSeq: count,
    openAfter: count,
  } satisfies Shape<TaskRecord>);
  return task;
}

/** Makes the shapes of the tables of a snapshot. */
function createTableShapes() {
  /** A decision without what is its worker's own. */
  const template = object({
    ...decisionSchema.pick({ v: true, fleet: true, decision: true, action: true, cause: true, reason: true }).shape,
    ...decisionSchema.pick({ nextPrompt: true, state: true, policy: true, replica: true, tookMs: true }).shape,
    feedback: z.array(feedbackSchema.partial({ details: true })),
    verdicts: z.array(verdictSchema),
    dryRun: flag,
    retryMax: number.nullable(),
    keepAlivesMax: number.nullable(),
    limitMs: number.nullable(),
  });
  /** Fields of another release are passed over by their names; `__proto__` would be none. */
  const legend = object({
    states: z.array(state),
    presences: z.array(presence),
    fields: z.array(text.regex(/^[a-z][A-Za-z]*$/)),
    events: texts,
  } satisfies Shape<Legend>);
  return { template, legend };
}

/** They are made when the first is asked for: a command that reads no snapshot would pay milliseconds for them. */
function createShapes() {
  const common = createCommonShapes();
  const policies = createPolicyShapes();
  const worker = createWorkerShape(common, policies);
  const { policySet } = policies;
  return { ...createTableShapes(), worker, task: createTaskShape(common), policySet, period: common.period };
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

let shapes: ReturnType<typeof createShapes> | null = null;

/** @throws Error: it is not of this form, and how */
export function judgeAs(name: keyof ReturnType<typeof createShapes>, value: unknown): void {
  shapes ??= createShapes();
  judge(shapes[name], value);
}

/** @throws Error: it is not of this form, and how */
export function judge(shape: z.ZodType, value: unknown): void {
  const { error } = shape.safeParse(value);
  if (error === undefined) return;
  const [{ path, message } = { path: [], message: '' }] = error.issues;
  throw new Error(`what it holds is of another form: ${[...path.map(String), message].join(': ')}`);
}
