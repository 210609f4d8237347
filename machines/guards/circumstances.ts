/** The facts that conditions of checks and hooks read. */
import type { Circumstances } from '../policy/condition.ts';
import { createWork } from '../policy/glob.ts';
import type { TaskFacts } from './attempt.ts';
import type { GuardScope } from './guard.ts';

/** @param task the held task that conditions read; undefined if none is held */
export function circumstancesOf(
  { worker, attempt: { fields } }: GuardScope,
  task: TaskFacts | undefined,
  work = createWork(),
): Circumstances {
  return {
    iteration: task?.iteration?.iteration ?? 0,
    phase: task?.phase ?? null,
    files: fields.files === undefined ? [worker.files] : [worker.files, fields.files],
    filesUnknown: worker.filesUnknown,
    labels: worker.labels,
    work,
  };
}
