/** The request body of a remote check or hook: what the fold knows of the worker, its task and its attempt. */
import {
  type AttemptFields,
  type Evaluation,
  type Fleet,
  promisesOf,
  type WorkerContext,
} from '../../machines/index.ts';

/** About a worker that wants to stop. */
export function questionOf(fleet: Fleet, worker: WorkerContext, attempt: string): object {
  return question(fleet, { worker, task: worker.tasks.at(-1) ?? null, attempt, fields: worker.attempt?.fields ?? {} });
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
