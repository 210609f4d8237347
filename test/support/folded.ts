/** Folds log lines to decisions and states, without texts, which are not part of the rules. */
import { createReplay, type FleetView, type ReplayLine, type TaskView, type WorkerView } from '../../machines/index.ts';

export type Folded = {
  /** Line numbers of refused lines, from 1. */
  readonly badLines: readonly number[];
  readonly results: readonly string[];
  readonly views: readonly unknown[];
};

/** @throws Error if the log needs an unknown version of the rules */
export function foldLines(lines: readonly string[]): Folded {
  const replay = createReplay();
  const badLines = lines.flatMap((line, index) => (replay.fold(line) === null ? [] : [index + 1]));
  const results = [...replay.take(), ...replay.open()].map(describe);
  const fault = replay.fault();
  if (fault !== null) throw new Error(fault);
  return { badLines, results, views: Object.values(replay.view().fleets).map(statesOf) };
}

/** A decision without its texts. */
function describe(line: ReplayLine): string {
  if (!('worker' in line)) return `${line.taskId} ${line.attempt} ${line.action}`;
  if (line.decision === null) return `${line.worker} ${line.attempt} open`;
  const { worker, tasks, attempt, at, decision, action, cause, state, retry, keepAlives, policy, verdicts } = line;
  const counts = `${retry.count}/${retry.max} ${keepAlives.count}/${keepAlives.max}`;
  return `${at} ${worker} [${tasks}] ${attempt} ${decision} ${action} ${cause} ${state} ${counts} ${policy.name}@${policy.seq} ${verdicts.at(-1)?.guard}`;
}

const workerFields = [
  'worker',
  'state',
  'presence',
  'agent',
  'tasks',
  'policy',
  'queue',
  'retry',
  'keepAlives',
  'plan',
  'calls',
  'usage',
  'inputs',
  'lastSeen',
] as (keyof WorkerView)[];
const taskFields = [
  'task',
  'state',
  'worker',
  'queue',
  'after',
  'outcome',
  'plan',
  'judged',
  'usage',
  'iteration',
  'hooks',
] as (keyof TaskView)[];

function statesOf({ workers, tasks, queues }: FleetView): unknown {
  return [
    Object.values(workers).map((worker) => [
      ...workerFields.map((field) => worker[field]),
      worker.refused.map(({ at, type }) => [at, type]),
    ]),
    Object.values(tasks).map((task) => [
      ...taskFields.map((field) => task[field]),
      task.checkpoints.map(({ checkpoint }) => checkpoint),
    ]),
    queues,
  ];
}
