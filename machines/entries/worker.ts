/** Schemas of entries about workers (protocol.md §3): reports of agents, and attempts to stop. */
import { z } from 'zod';
import { validationSchema } from '../policy/checks/check-result.ts';
import { planStepsMax } from '../policy/plan.ts';
import { promiseSchema } from '../policy/promise.ts';
import { isId } from '../values/id.ts';
import {
  cwdLengthMax,
  labelsMax,
  nameLengthMax,
  operatorNameLengthMax,
  pauseMsMax,
  requestLengthMax,
  sourceLengthMax,
} from '../values/limits.ts';
import {
  files,
  filesFault,
  idSchema,
  isoTimeSchema,
  name,
  stepIdSchema,
  textSchema,
  title,
} from '../values/schemas.ts';
import { durationMsMax } from '../values/time.ts';

// `worker.registered`: an agent describes itself. `worker.moved`: it works in another folder. `worker.retired`: an
// operator takes it out of service. `worker.paused`: a person lets it stop without being judged.

const labels = z
  .record(z.string(), z.string())
  .refine((record) => Object.keys(record).length <= labelsMax, `has more than ${labelsMax} labels`);

const folder = textSchema(cwdLengthMax).min(1);

/** `interactive: false`: nobody attends the session, and it ends with its turn. */
export const workerRegistered = z.object({
  agent: name.optional(),
  profile: name.optional(),
  policy: idSchema.optional(),
  queue: idSchema.optional(),
  parent: idSchema.optional(),
  cwd: folder.optional(),
  labels: labels.optional(),
  interactive: z.boolean().optional(),
});
export const workerMoved = z.object({ cwd: folder });
export const workerRetired = z.object({ by: name });

const operator = textSchema(operatorNameLengthMax).min(1);

/** Without `forMs` the pause lasts until the session ends. */
export const workerPaused = z.object({ by: operator, forMs: z.int().positive().max(pauseMsMax).optional() });
export const workerUnpaused = z.object({ by: operator });

/** `heartbeat.sent`: the worker is alive. `mode`: its current mode of work, stored as its label `mode`. */
export const heartbeatSent = z.object({ mode: name.optional() });

/** `prompt.submitted`: a turn begins. `by` defaults to a person. */
export const promptSubmitted = z.object({
  text: z.string().optional(),
  by: z.enum(['person', 'agent', 'system']).optional(),
});

// `tool.started` and `tool.used`: a tool begins and ends. `call`: the agent's id for the call.

/** Both fields are kept while the call is open, so their length is limited. */
export const toolStarted = z.object({
  tool: textSchema(nameLengthMax).min(1),
  call: textSchema(nameLengthMax).optional(),
});

/**
 * `changes`: `none`, `files` (the tool changed those in `files`) or `unknown` (it may have changed any file). Any other
 * word counts as `unknown`. `command`: the shell command; the fold keeps only its beginning.
 */
export const toolUsed = z.object({
  tool: name,
  ok: z.boolean().optional(),
  files: files.optional(),
  call: z.string().optional(),
  changes: z.string().optional(),
  command: z.string().optional(),
});

// `plan.updated` replaces a worker's plan; `step.updated` adds, changes or removes one step.

const step = z.object({ title, status: z.string(), step: stepIdSchema.optional() });
export const stepsSchema = z.array(step).max(planStepsMax);

export const planUpdated = z.object({ steps: stepsSchema });
export const stepUpdated = z.object({
  step: stepIdSchema,
  title: title.optional(),
  status: z.string().optional(),
});

// `background.*`: work that continues without the agent. Stops wait while any is outstanding.

/** Chosen by the program that runs the work, so it need not be an id. */
const workName = textSchema(nameLengthMax).min(1);

/** The fold keeps only the beginning of `kind` and `command`. */
export const backgroundStarted = z.object({
  id: workName,
  kind: z.string().optional(),
  command: z.string().optional(),
});
export const backgroundFinished = z.object({ id: workName, kind: z.string().optional() });

// `input.*`: the agent begins or ends waiting for a person.

/** The agent's id for its request. Operators answer by it. */
const request = textSchema(requestLengthMax).min(1);

/**
 * `detail`: what `tool` would do, as text or as the tool's input. Without `request`, no operator can answer, and
 * `input.received` closes all open requests.
 */
const input = z.object({
  kind: z.string().optional(),
  message: z.string().optional(),
  request: request.optional(),
  tool: z.string().optional(),
  detail: z.unknown().optional(),
});
export const inputRequested = input;
export const inputReceived = input;
/** An operator's answer. */
export const inputAnswered = z.object({
  by: name,
  request,
  verdict: z.enum(['allow', 'deny']),
  message: z.string().optional(),
});

// `limit.*`: a usage limit. With a scope, it applies to all workers that have reported the scope.

export const limitReached = z.object({ scope: name.optional(), until: isoTimeSchema.optional() });
export const limitCleared = z.object({ scope: name.optional(), until: isoTimeSchema.optional() });

/** `budget.exhausted`: the agent has run out of tokens, money, turns or time. */
export const budgetExhausted = z.object({ kind: z.string().optional() });

/** An increment. JSON cannot express infinity, but `1e999` parses as it; `z.number()` rejects that. */
const amount = z.number().nonnegative();

/**
 * `usage.reported`: tokens and dollars used since the last report. `source` names the report if an agent has several,
 * e.g. `hook` or `metrics`.
 */
export const usageReported = z.object({
  input: amount.optional(),
  output: amount.optional(),
  cacheRead: amount.optional(),
  cacheWrite: amount.optional(),
  usd: amount.optional(),
  model: textSchema(nameLengthMax).min(1).optional(),
  source: textSchema(sourceLengthMax).min(1).optional(),
});

/** `session.ended`: the agent's session is over. */
export const sessionEnded = z.object({ reason: title.optional() });

// `stop.attempted` opens an attempt. `attempt.accepted`: a replica takes it over.

/** `isPlain` tells whether the schema would accept a value unchanged; null if only the schema can tell. */
type AttemptField<Schema extends z.ZodType> = {
  readonly schema: Schema;
  readonly isPlain: ((value: unknown) => boolean) | null;
};
const attemptField = <Schema extends z.ZodType>(
  schema: Schema,
  isPlain: ((value: unknown) => boolean) | null,
): AttemptField<z.ZodOptional<Schema>> => ({ schema: schema.optional(), isPlain });

const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown, max = Number.MAX_SAFE_INTEGER) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;

/** The fields of `stop.attempted`, which are also the body of `decide`, `probe` and `verify`. */
export const attemptFields = {
  attempt: attemptField(idSchema, (value) => isText(value) && isId(value)),
  stopReason: attemptField(z.string(), isText),
  output: attemptField(z.string(), isText),
  toolCount: attemptField(z.int().nonnegative(), isCount),
  files: attemptField(files, (value) => filesFault(value) === null),
  validation: attemptField(validationSchema, null),
  promises: attemptField(z.array(promiseSchema), null),
  draft: attemptField(z.object({ content: z.string().optional(), type: z.string().optional() }), null),
  holdMs: attemptField(z.int().nonnegative().max(durationMsMax), (value) => isCount(value, durationMsMax)),
  /** The program that asks, if it is not known to obey an answer. */
  unjudged: attemptField(textSchema(nameLengthMax).min(1), null),
};

export const attemptSchema = z.object(
  Object.fromEntries(Object.entries(attemptFields).map(([name, { schema }]) => [name, schema])) as {
    [Name in keyof typeof attemptFields]: (typeof attemptFields)[Name]['schema'];
  },
);
export type AttemptFields = z.infer<typeof attemptSchema>;

/** `from` is the unresponsive owner. If two replicas take over from it, only the first entry counts. */
export const attemptAccepted = z.object({ attempt: idSchema, replica: idSchema, from: idSchema.optional() });
