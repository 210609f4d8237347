/**
 * The last decisions of workers. Thousands are the same but for a worker's own fields, so a snapshot holds the shared
 * fields of equal decisions once, in a line of their own, and each worker names it by its number. What is restored shares
 * them in memory, too.
 */
import { type Decision, decisionFields, ownDecisionFields, sharedDecisionFields } from '../../guards/decision.ts';
import { changesOf, checkFields, isEqualJson, type Json, pick, startOf } from '../../values/fields.ts';

/** The number of the shared fields, and the worker's own ones that are not as they begin. */
export type KeptDecision = { readonly shared: number; readonly own: Readonly<Record<string, Json>> };

export type DecisionWriter = {
  /** Null: there are too many, and the worker keeps all of its decision. */
  write(decision: Decision): KeptDecision | null;
  /** Lines that must come before what was just written. */
  takeLines(): readonly (readonly Json[])[];
};

/** Reasons with a number in them all differ. More than so many would cost more than they save: 1 KB of memory each. */
const sharedMax = 10_000;
const sharedNames = Object.keys(sharedDecisionFields) as (keyof Decision)[];
const isEqual = (a: Decision, b: Decision, name: keyof Decision): boolean => isEqualJson(a[name], b[name]);
/** It follows from the key of the line. */
const omitted: ReadonlySet<string> = new Set(['worker']);

export function createDecisionWriter(): DecisionWriter {
  const numbers = new Map<string, number>();
  /** The last decision with a reason is mostly equal to the next one: to compare them takes a third of making the text. */
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
  /** @throws Error: the line is of another form */
  add(line: readonly Json[]): void;
  /** @throws Error: there is no such decision, or it is of another form */
  read(worker: string, number: Json, own: Json): Decision;
  /** Tells whether it is there. */
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
      // A copy that adds no field: all of them have one hidden class.
      const decision = { ...shared };
      Object.assign(decision, checkFields(ownDecisionFields, own));
      decision.worker = worker;
      return decision;
    },
  };
}
