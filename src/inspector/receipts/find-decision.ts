/** Finds the decision of which somebody wants a receipt. */
import { type Decision, decisionSchema, readJson, type TaskView, type WorkerView } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { requireComplete } from './receipt.ts';

/** `attempt` null: the last decision of the worker, or the one that completed the task. */
export type ReceiptOf = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly attempt: string | null;
};
type Sources = {
  /** @throws AppError actor.unknown */
  readonly worker: (id: string) => Promise<Pick<WorkerView, 'lastDecision'>>;
  /** @throws AppError actor.unknown */
  readonly task: (id: string) => Promise<Pick<TaskView, 'judged'>>;
  /** The newest decisions of a worker, as stored. */
  readonly decisions: (worker: string, count: number) => Promise<readonly LogMessage[]>;
};

/** How many of a worker's decisions are searched: those of some weeks, and less than a second of reading. */
const searchedMax = 1_000;

/** @throws AppError stop.incomplete if it was not complete; actor.unknown */
export async function findDecision(sources: Sources, wanted: ReceiptOf): Promise<Decision> {
  const { worker, attempt } = await resolve(sources, wanted);
  const { lastDecision } = await sources.worker(worker);
  const isLast = lastDecision !== null && (attempt === null || lastDecision.attempt === attempt);
  const decision = isLast ? lastDecision : attempt === null ? null : await search(sources, worker, attempt);
  if (decision === null) {
    const what = attempt === null ? 'a stop' : `attempt ${attempt}`;
    throw new AppError('stop.incomplete', `there is no receipt, because ${what} of ${worker} was never decided`);
  }
  requireComplete(decision);
  return decision;
}

async function resolve({ task }: Sources, { entity, id, attempt }: ReceiptOf) {
  if (entity === 'worker') return { worker: id, attempt };
  const { judged } = await task(id);
  if (judged !== null) return judged;
  const why = `no decision has completed task ${id}; a worker that only reports it as completed was not judged`;
  throw new AppError('stop.incomplete', `there is no receipt, because ${why}`);
}

async function search({ decisions }: Sources, worker: string, attempt: string): Promise<Decision | null> {
  const decoder = new TextDecoder();
  for (const { data } of (await decisions(worker, searchedMax)).toReversed()) {
    const read = readJson(decoder.decode(data));
    const decision = read.ok ? decisionSchema.safeParse(read.value).data : undefined;
    if (decision?.attempt === attempt && decision.worker === worker) return decision;
  }
  return null;
}
