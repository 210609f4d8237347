/**
 * The last decisions of workers in snapshots. Thousands differ only in a worker's own fields, so the shared fields of
 * equal decisions are written once, on a separate line, and each worker refers to it by number. Restored workers share
 * them in memory too.
 */
import { type Decision, decisionFields, ownDecisionFields, sharedDecisionFields } from '../../guards/decision.ts';
import { changesOf, checkFields, isEqualJson, type Json, pick, startOf } from '../../values/fields.ts';

/** The number of the shared fields, and the worker's own fields that differ from their initial values. */
type DecisionReference = { readonly shared: number; readonly own: Readonly<Record<string, Json>> };

export type DecisionWriter = {
  /** Returns null if there are too many; then the worker's line holds the whole decision. */
  write(decision: Decision): DecisionReference | null;
  /** Returns lines that must precede the line just written. */
  takeLines(): readonly (readonly Json[])[];
};

/**
 * Reasons that contain a number all differ. Beyond this many, sharing costs more than it saves: each takes 1 KB of
 * memory.
 */
const sharedMax = 10_000;
const sharedNames = Object.keys(sharedDecisionFields) as (keyof Decision)[];
const isEqual = (a: Decision, b: Decision, name: keyof Decision): boolean => isEqualJson(a[name], b[name]);
/** Follows from the key of the line. */
const omitted: ReadonlySet<string> = new Set(['worker']);

export function createDecisionWriter(): DecisionWriter {
  const numbers = new Map<string, number>();
  /** Decisions with the same reason are mostly equal. Comparing takes a third of the time of writing the JSON. */
  const lastByReason = new Map<string, { readonly decision: Decision; readonly number: number }>();
  let due: (readonly Json[])[] = [];
  const numberOf = (decision: Decision): number | null => {
    const last = lastByReason.get(decision.reason);
    if (last !== undefined && sharedNames.every((name) => isEqual(decision, last.decision, name))) return last.number;
    const shared = pick(decision, sharedNames);
    const key = JSON.stringify(shared);
    const number = numbers.get(key) ?? numbers.size;
    if (number >= sharedMax) return null;
    if (number === numbers.size) due.push([number, shared]);
    numbers.set(key, number);
    lastByReason.set(decision.reason, { decision, number });
    return number;
  };
  return {
    write(decision) {
      const shared = numberOf(decision);
      return shared === null ? null : { shared, own: changesOf(ownDecisionFields, decision, omitted) };
    },
    takeLines() {
      const taken = due;
      if (taken.length > 0) due = [];
      return taken;
    },
  };
}

export type DecisionReader = {
  /** @throws Error if the line is invalid */
  add(line: readonly Json[]): void;
  /** @throws Error if the decision is missing or invalid */
  read(worker: string, number: Json, own: Json): Decision;
  /** Tells whether the decision was read. */
  has(number: number): boolean;
};

export function createDecisionReader(): DecisionReader {
  const known: Decision[] = [];
  const start: Partial<Decision> = startOf(decisionFields) as object;
  return {
    add([number, given]) {
      if (number !== known.length) throw new Error(`decision ${known.length} is missing`);
      const shared = checkFields(sharedDecisionFields, given);
      for (const name of sharedNames) if (!Object.hasOwn(shared, name)) throw new Error(`a decision has no ${name}`);
      known.push(Object.assign({ ...start }, shared) as Decision);
    },
    has: (number) => number < known.length,
    read(worker, number, own) {
      const shared = known[number as number];
      if (shared === undefined) throw new Error(`there is no decision ${number}`);
      // A copy without new fields, so that all decisions have the same hidden class.
      const decision = { ...shared };
      Object.assign(decision, checkFields(ownDecisionFields, own));
      decision.worker = worker;
      return decision;
    },
  };
}
