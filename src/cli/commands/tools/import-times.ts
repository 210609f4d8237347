/**
 * Finds out what an import would change. A log that is imported gets new times, and the times of a log decide: deadlines
 * that were due are not due any more, and what was used on many days was used on one. So the log is folded twice, with its
 * own times and with that of the import, and it is only imported if both lead to the same.
 */
import { advanceClock, createFleet, type Fleet, formatIsoTime } from '../../../../machines/index.ts';
import { foldMessage } from '../../../host/fold/fold-message.ts';

export type TimedEntry = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly payload: string | Uint8Array;
};

/** Differences that are named; there may be thousands. */
const shownMax = 3;

export function createTimeComparison(name: string, importMs: number) {
  const asItWas = createFleet(name);
  const asImported = createFleet(name);
  /** The last day on which each entry of usage was stored, by the log's times. */
  let usedFromMs: number | null = null;
  return {
    add({ seq, atMs, subject, payload }: TimedEntry): void {
      const data = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
      const message = { seq, subject, data, header: () => undefined };
      const { outcomes } = foldMessage(asItWas, { ...message, atMs });
      foldMessage(asImported, { ...message, atMs: importMs });
      if (outcomes.some(({ kind }) => kind === 'used')) usedFromMs ??= atMs;
    },
    /** @returns what would be different, in words; empty: nothing */
    differences(): string[] {
      advanceClock(asItWas, importMs);
      const found = [...differencesOf(asItWas, asImported)];
      const day = dayOf(importMs);
      if (usedFromMs !== null && dayOf(usedFromMs) !== day)
        found.push(`what agents used since ${dayOf(usedFromMs)} would count as used on ${day}`);
      return found.length > shownMax ? [...found.slice(0, shownMax), '…'] : found;
    },
  };
}

const dayOf = (atMs: number): string => formatIsoTime(atMs).slice(0, 10);

function* differencesOf(asItWas: Fleet, asImported: Fleet): Generator<string> {
  for (const [task, { snapshot }] of asImported.tasks) {
    const was = asItWas.tasks.get(task)?.snapshot;
    // One that has stopped is forgotten a little later, and until then nothing can be done with it.
    if (was === undefined && snapshot.value === 'stopped') continue;
    const before = was === undefined ? 'forgotten' : `${was.value}${holderOf(was.context)}`;
    const after = `${snapshot.value}${holderOf(snapshot.context)}`;
    if (before !== after) yield `task ${task} would be ${after}, and it is ${before}`;
    else if (asItWas.evaluating.has(task) !== asImported.evaluating.has(task))
      yield `the hooks of task ${task} would be asked again`;
  }
  for (const [worker, { snapshot }] of asImported.workers) {
    const was = asItWas.workers.get(worker)?.snapshot;
    if (was === undefined && snapshot.value.state === 'stopped') continue;
    const before = was === undefined ? 'forgotten' : standingOf(was);
    const after = standingOf(snapshot);
    if (before !== after) yield `worker ${worker} would be ${after}, and it is ${before}`;
  }
}

const holderOf = ({ worker }: { readonly worker: string | null }): string => (worker === null ? '' : ` on ${worker}`);

/** The state, the last decision and what is open: all that a deadline may have changed. */
function standingOf({
  value,
  context: { worker },
}: NonNullable<ReturnType<Fleet['workers']['get']>>['snapshot']): string {
  const { attempt, lastDecision, escalation, inputs } = worker;
  const check = attempt === null ? '' : ` (attempt ${attempt.attempt}, ${attempt.pending?.name ?? 'held'})`;
  const decided = lastDecision === null ? '' : `, after ${lastDecision.decision} ${lastDecision.cause}`;
  const overdue = inputs.some((it) => it.overdue !== undefined) ? ', with an overdue request' : '';
  return `${value.state}${check}${decided}${escalation === null ? '' : `, for ${escalation.cause}`}${overdue}`;
}
