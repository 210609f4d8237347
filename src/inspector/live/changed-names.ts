/** Names of actors whose rows have changed. */

export type ChangedNames = {
  readonly workers: Set<string>;
  readonly tasks: Set<string>;
  readonly queues: Set<string>;
};

export const noNames = (): ChangedNames => ({ workers: new Set(), tasks: new Set(), queues: new Set() });

export const countNames = ({ workers, tasks, queues }: ChangedNames): number => workers.size + tasks.size + queues.size;

export function addNames(to: ChangedNames, { workers, tasks, queues }: ChangedNames): void {
  for (const it of workers) to.workers.add(it);
  for (const it of tasks) to.tasks.add(it);
  for (const it of queues) to.queues.add(it);
}
