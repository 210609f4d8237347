/** The request body of a remote check or hook: what the fold knows of the worker, its task and its attempt. */
import {
  type AttemptFields,
  cutMiddle,
  type Evaluation,
  type Fleet,
  type PendingCheck,
  promisesOf,
  type WorkerContext,
} from '../../machines/index.ts';

/** About a worker that wants to stop. A hook is asked about its own task, a check about the one that was claimed last. */
export function questionOf(fleet: Fleet, worker: WorkerContext, attempt: string, pending: PendingCheck): object {
  const task = pending.by === 'hooks' ? pending.task : (worker.tasks.at(-1) ?? null);
  return question(fleet, { worker, task, attempt, fields: worker.attempt?.fields ?? {} });
}

/** About an iteration that is validated. Its task need not be held by a worker. */
export function questionOfIteration(fleet: Fleet, task: string, { attempt, fields, iteration }: Evaluation): object {
  const holder = fleet.tasks.get(task)?.snapshot.context.worker ?? null;
  const worker = holder === null ? null : (fleet.workers.get(holder)?.snapshot.context.worker ?? null);
  return { ...question(fleet, { worker, task, attempt, fields }), iteration: iteration.iteration };
}

type Subject = {
  readonly worker: WorkerContext | null;
  readonly task: string | null;
  readonly attempt: string;
  readonly fields: AttemptFields;
};

function question({ tasks }: Fleet, { worker, task, attempt, fields }: Subject): object {
  const held = task === null ? undefined : tasks.get(task)?.snapshot.context;
  const detected = [...promisesOf(fields)].map((type) => ({
    ...{ type, detected: true, content: `<promise>${type}</promise>` },
  }));
  return {
    ...{ worker: worker?.worker ?? null, task, attempt, stopReason: fields.stopReason ?? null },
    ...{ toolCount: fields.toolCount ?? worker?.toolCount ?? 0, retryCount: worker?.retryCount ?? 0 },
    iteration: held?.iteration?.iteration ?? null,
    phase: held?.checkpoints.findLast((it) => it.phase !== null)?.phase ?? null,
    filesModified: [...new Set([...(worker?.files ?? []), ...(fields.files ?? [])])],
    validationResults: fields.validation ?? [],
    completionPromises: fields.promises ?? detected,
    agentOutput: fields.output ?? null,
    ...{ draftContent: fields.draft?.content ?? null, draftType: fields.draft?.type ?? null },
    ...{ cwd: worker?.cwd ?? null, plan: worker?.plan ?? held?.plan ?? [] },
  };
}

/** Ids have 128 characters at most, so no cut ever touches one. */
const textLengthMin = 128;
const firstLengthMax = 65_536;

/** The request body as JSON. One that is too large for a message is shortened, and marked `truncated`. */
export function toPayload(question: object, bytesMax: number): string {
  let payload = JSON.stringify(question);
  for (let max = firstLengthMax; Buffer.byteLength(payload) > bytesMax && max >= 1; max /= 2)
    payload = JSON.stringify({ ...(shorten(question, max) as object), truncated: true });
  return payload;
}

/** Lists keep their first `max` members, texts their beginning and end. */
function shorten(value: unknown, max: number): unknown {
  if (typeof value === 'string') return cutMiddle(value, Math.max(max, textLengthMin));
  if (Array.isArray(value)) return value.slice(0, max).map((each) => shorten(each, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shorten(each, max)]));
}
