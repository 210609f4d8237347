/** Folds entries about tasks: what makes no sense now is refused (protocol.md §3, §4 and §7). */
import { type HookForm, membersWithin } from '../entries/hook.ts';
import type { TaskEntry } from '../entries/index.ts';
import type { TaskEvent } from '../task/events.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { dependentsMax, hookMembersMax, hooksMax } from '../values/limits.ts';
import { clearFilesOf, loseTask } from './claims.ts';
import { beginEvaluation } from './evaluations.ts';
import type { Fleet, TaskRecord } from './fleet.ts';
import { armStaleDeadlines } from './stale-deadlines.ts';
import { createTask, refuseTask, stepTask } from './tasks.ts';

/** Types that create an unknown task; only `task.created` gives it a queue. */
const creating: ReadonlySet<string> = new Set([
  'task.created',
  'hook.registered',
  'iteration.started',
  'checkpoint.saved',
]);

export function foldTask(fleet: Fleet, entry: TaskEntry, seq: number, owner: string | null): void {
  const { id, type } = entry;
  if (!fleet.tasks.has(id)) {
    if (!creating.has(type)) {
      fleet.outcomes.push({ kind: 'refused', entity: 'task', id, type, reason: `task ${id} is unknown` });
      return;
    }
    createTask(fleet, id, null);
  }
  const record = fleet.tasks.get(id) as TaskRecord;
  record.namedMs = fleet.nowMs;
  const reason = refusalOf(record, entry) ?? dependentsFault(fleet, entry);
  if (reason !== null) {
    refuseTask(fleet, id, type, reason);
    return;
  }
  if (entry.type === 'iteration.validated') {
    beginEvaluation(fleet, entry, seq, owner);
    return;
  }
  const { worker } = record.snapshot.context;
  stepTask(fleet, id, { type, data: entry.data, at: formatIsoTime(fleet.nowMs) } as TaskEvent);
  if (worker !== null && type === 'task.created') armStaleDeadlines(fleet, worker);
  if (worker !== null && type === 'task.cancelled') loseTask(fleet, worker, id);
  if (worker !== null && (type === 'iteration.started' || type === 'iteration.advanced')) clearFilesOf(fleet, worker);
}

/** Its end is told to each of them. */
function dependentsFault({ dependents }: Fleet, entry: TaskEntry): string | null {
  if (entry.type !== 'task.created') return null;
  const full = entry.data.after?.find((it) => {
    const known = dependents.get(it);
    return known !== undefined && known.size >= dependentsMax && !known.has(entry.id);
  });
  return full === undefined ? null : `task ${full} has ${dependentsMax} dependents, the most there may be`;
}

/** Each holds up to 64 KiB for as long as a remote hook takes. */
const evaluationsMax = 64;

/** Why the entry makes no sense now, or null. */
function refusalOf({ snapshot: { context, value } }: TaskRecord, entry: TaskEntry): string | null {
  const { hooks, iteration, evaluations } = context;
  switch (entry.type) {
    case 'task.cancelled':
      return value === 'stopped' ? `task ${context.task} is ${context.outcome ?? 'stopped'}` : null;
    case 'hook.registered':
      if (hooks.some((it) => it.hook === entry.data.hook)) return `hook ${entry.data.hook} exists`;
      if (hooks.length >= hooksMax) return `task ${context.task} has ${hooksMax} hooks, the most there may be`;
      return hooks.reduce((sum, it) => sum + membersWithin(it.form), membersWithin(entry.data as HookForm)) >
        hookMembersMax
        ? `the hooks of task ${context.task} would have more than ${hookMembersMax} members, the most there may be`
        : null;
    case 'hook.enabled':
    case 'hook.disabled':
      return hooks.some((it) => it.hook === entry.data.hook) ? null : `hook ${entry.data.hook} is unknown`;
    case 'iteration.validated':
    case 'iteration.completed':
    case 'iteration.advanced':
      if (iteration === null) return 'no iteration was started';
      if (iteration.completed) return `iteration ${iteration.iteration} is completed`;
      if (entry.type !== 'iteration.advanced') {
        const { iteration: named } = entry.data;
        if (named !== iteration.iteration) return `iteration ${named} is not the current one, ${iteration.iteration}`;
        return entry.type === 'iteration.validated' && evaluations.length >= evaluationsMax
          ? `${evaluationsMax} validations of task ${context.task} wait for an answer, the most there may be`
          : null;
      }
      return iteration.iteration < iteration.maxIterations ? null : `iteration ${iteration.iteration} is the last`;
    default:
      return null;
  }
}
