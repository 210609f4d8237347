/**
 * Finds out what an import would change. Imported entries get new timestamps, which affect the state: deadlines that
 * had passed are open again, and the usage of many days counts for a single one. So the log is folded twice, with its
 * own timestamps and with that of the import, and is imported only if both folds lead to the same state.
 */
import { advanceClock, createFleet, type Fleet, formatIsoTime } from '../../../../machines/index.ts';
import { foldMessage } from '../../../host/fold/fold-message.ts';

export type TimedEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly payload: string | Uint8Array;
};

/** Maximum number of differences that are named. There may be thousands. */
const shownMax = 3;

export function createTimeComparison(name: string, importMs: number) {
  const original = createFleet(name);
  const imported = createFleet(name);
  /** When the first usage entry was stored, by the log's timestamps. Null if there is none. */
  let usedFromMs: number | null = null;
  return {
    add({ seq, atMs, subject, payload }: TimedEntry): void {
      const data = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
      const message = { seq, subject, data, header: () => undefined };
      const { outcomes } = foldMessage(original, { ...message, atMs });
      foldMessage(imported, { ...message, atMs: importMs });
      if (outcomes.some(({ kind }) => kind === 'used')) usedFromMs ??= atMs;
    },
    /** @returns descriptions of the differences; empty if there are none */
    differences(): string[] {
      advanceClock(original, importMs);
      const found = [...differencesOf(original, imported)];
      const day = dayOf(importMs);
      if (usedFromMs !== null && dayOf(usedFromMs) !== day)
        found.push(`what agents used since ${dayOf(usedFromMs)} would count as used on ${day}`);
      return found.length > shownMax ? [...found.slice(0, shownMax), '…'] : found;
    },
  };
}

const dayOf = (atMs: number): string => formatIsoTime(atMs).slice(0, 10);

function* differencesOf(original: Fleet, imported: Fleet): Generator<string> {
  for (const [task, { snapshot }] of imported.tasks) {
    const was = original.tasks.get(task)?.snapshot;
    // A stopped task is removed later in one fold than in the other. That makes no difference.
    if (was === undefined && snapshot.value === 'stopped') continue;
    const before = was === undefined ? 'forgotten' : `${was.value}${holderOf(was.context)}`;
    const after = `${snapshot.value}${holderOf(snapshot.context)}`;
    if (before !== after) yield `task ${task} would be ${after}, but is ${before}`;
    else if (original.evaluating.has(task) !== imported.evaluating.has(task))
      yield `the hooks of task ${task} would be evaluated again`;
  }
  for (const [worker, { snapshot }] of imported.workers) {
    const was = original.workers.get(worker)?.snapshot;
    if (was === undefined && snapshot.value.state === 'stopped') continue;
    const before = was === undefined ? 'forgotten' : standingOf(was);
    const after = standingOf(snapshot);
    if (before !== after) yield `worker ${worker} would be ${after}, but is ${before}`;
  }
}

const holderOf = ({ worker }: { readonly worker: string | null }): string => (worker === null ? '' : ` on ${worker}`);

/** Describes everything that a deadline may change: the state, the last decision and what is open. */
function standingOf({
  value,
  context: { worker },
}: NonNullable<ReturnType<Fleet['workers']['get']>>['snapshot']): string {
  const { attempt, lastDecision, escalation, inputs } = worker;
  const check = attempt === null ? '' : ` (attempt ${attempt.attempt}, ${attempt.pending?.name ?? 'held'})`;
  const decided = lastDecision === null ? '' : `, after ${lastDecision.decision} ${lastDecision.cause}`;
  const overdue = inputs.some((input) => input.overdue !== undefined) ? ', with an overdue request' : '';
  return `${value.state}${check}${decided}${escalation === null ? '' : `, for ${escalation.cause}`}${overdue}`;
}
