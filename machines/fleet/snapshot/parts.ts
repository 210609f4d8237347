/** How each part of a fleet is captured, written and restored. A missing part is a compile error. */
import { z } from 'zod';
import type { PolicySet } from '../../policy/policy-set.ts';
import { policySetShape } from '../../policy/policy-shape.ts';
import { checkValue, type Json } from '../../values/fields.ts';
import { number, numberOrNull, object, period, text, textOrNull, unattended } from '../../values/shapes.ts';
import { type Fleet, setRules } from '../fleet.ts';
import { ReadyTasks } from '../queues/ready-tasks.ts';
import type { SnapshotMap } from '../snapshot-map.ts';
import { type Deadline, type Deadlines, deadlineKinds } from '../time/deadlines.ts';
import { readTask, readWorker, writeTask, writeWorker } from './actors.ts';
import type { DecisionReader, DecisionWriter } from './decisions.ts';

/** A line of a part, without the name of the part. */
export type Line = readonly Json[];

export type CapturedPart = {
  /** The state at the time of the capture. Iterate once, at any pace. */
  lines(decisions: DecisionWriter): Iterable<Line>;
  release(): void;
};

type Part<Value> = {
  capture(value: Value): CapturedPart;
  /** @returns the value including the content of the line @throws Error if the line is invalid */
  restore(value: Value, line: Line, fleet: Fleet, decisions: DecisionReader): Value;
};

/**
 * Fields that a snapshot leaves out: arguments of `createFleet`, the watcher, the steppers (which follow from `rules`),
 * and collections that are empty between entries.
 */
type NotState =
  | 'name'
  | 'stateSizeMax'
  | 'policyPinned'
  | 'outcomes'
  | 'touched'
  | 'watcher'
  | 'showsInputs'
  | 'rulesKnown'
  | 'workerStepper'
  | 'taskStepper';
type Parts = { readonly [K in Exclude<keyof Fleet, NotState>]: Part<Fleet[K]> };

/** The number of small values on one line. */
const perLine = 1_000;
const nothing = () => {};

const captured = (lines: readonly Line[]): CapturedPart => ({ lines: () => lines, release: nothing });

/** Checks the values of a line. @throws Error if one is invalid */
function check(line: Line, ...schemas: readonly z.ZodType[]): void {
  if (line.length !== schemas.length) throw new Error(`a line has ${line.length} values, not ${schemas.length}`);
  for (const [index, schema] of schemas.entries()) checkValue(schema, line[index], `value ${index + 1} of a line`);
}

const numberPart: Part<number> = {
  capture: (value) => captured([[value]]),
  restore(_value, line) {
    check(line, number);
    return line[0] as number;
  },
};

/** For immutable values: copies only the list. */
const listed = (items: Iterable<Json>): CapturedPart => {
  const copied = [...items];
  return {
    *lines() {
      for (let from = 0; from < copied.length; from += perLine) yield [copied.slice(from, from + perLine)];
    },
    release: nothing,
  };
};

const names = z.array(text);

const namesPart: Part<Set<string>> = {
  capture: listed,
  restore(value, line) {
    check(line, names);
    for (const name of line[0] as string[]) value.add(name);
    return value;
  },
};

function entriesPart<Value>(schema: z.ZodType): Part<Map<string, Value>> {
  const entries = z.array(z.tuple([text, schema]));
  return {
    capture: listed,
    restore(value, line) {
      check(line, entries);
      for (const [key, held] of line[0] as [string, Value][]) value.set(key, held);
      return value;
    },
  };
}

const isKind = (kind: unknown): kind is Deadline['kind'] => deadlineKinds.includes(kind as Deadline['kind']);

/** Four values for each deadline, in heap order, so that the restored heap is identical. */
const deadlinesPart: Part<Deadlines> = {
  capture(value) {
    const copied = value.copy();
    return {
      *lines() {
        for (let from = 0; from < copied.size; from += perLine) {
          const some = copied.toArray(from, from + perLine);
          yield [some.flatMap(({ atMs, kind, id, attempt }) => [atMs, kind, id, attempt])];
        }
      },
      release: nothing,
    };
  },
  restore(value, [flat]) {
    if (!Array.isArray(flat)) throw new Error('deadlines must be a list');
    // Checked by hand for speed: every worker has one or two.
    for (let index = 0; index < flat.length; index += 4) {
      const [atMs, kind, id, attempt] = [flat[index], flat[index + 1], flat[index + 2], flat[index + 3]];
      if (typeof atMs !== 'number' || !isKind(kind) || typeof id !== 'string' || typeof attempt !== 'string')
        throw new Error('invalid deadline');
      value.push({ atMs, kind, id, attempt });
    }
    return value;
  },
};

/** One line per value, beginning with its key. */
function mapPart<Value extends object>(
  write: (value: Readonly<Value>, decisions: DecisionWriter) => Line,
  read: (line: Line, key: string, fleet: Fleet, decisions: DecisionReader) => Value,
): Part<SnapshotMap<Value>> {
  return {
    capture(value) {
      const content = value.capture();
      return {
        *lines(decisions) {
          for (const key of content.keys) yield [key, ...write(content.read(key), decisions)];
        },
        release: content.release,
      };
    },
    restore(value, [key, ...line], fleet, decisions) {
      if (typeof key !== 'string') throw new Error('a line has no key');
      value.set(key, read(line, key, fleet, decisions));
      return value;
    },
  };
}

const policies: Part<PolicySet> = {
  capture: (value) => captured([[{ ...value, policies: [...value.policies] }]]),
  restore(_value, line) {
    check(line, policySetShape);
    const read = line[0] as PolicySet;
    return { ...read, policies: new Map(read.policies) };
  },
};

/** Must be restored before the parts that use the machines of these rules. */
const rules: Parts['rules'] = {
  capture: ({ version }) => captured([[version]]),
  restore(_value, line, fleet) {
    check(line, z.int().positive());
    setRules(fleet, line[0] as number);
    return fleet.rules;
  },
};

const day: Parts['day'] = {
  capture: (value) => captured([[value]]),
  restore(_value, line) {
    check(line, period);
    return line[0] as Fleet['day'];
  },
};

const queueFields = object({
  tasks: number,
  reported: number,
  aloneMs: numberOrNull,
  unattended: unattended.nullable(),
});
const readyTasks = z.array(z.tuple([text, number, number]));
type ReadyTuple = [task: string, priority: number, createdSeq: number];

export const parts: Parts = {
  rules,
  // Nothing is folded under unknown rules, so no snapshot has them.
  unknownRules: { capture: () => captured([]), restore: (value) => value },
  nowMs: numberPart,
  seq: numberPart,
  policySeq: numberPart,
  deadlinesKept: numberPart,
  stateSize: numberPart,
  day,
  policies,
  open: namesPart,
  held: namesPart,
  evaluating: namesPart,
  arrivals: namesPart,
  reports: namesPart,
  unplacedDecisions: entriesPart(names),
  pastClaims: entriesPart(object({ task: text, atMs: number })),
  escalated: entriesPart(object({ entity: z.enum(['worker', 'task']), id: text, owner: textOrNull })),
  neglected: entriesPart(object({ entity: z.enum(['worker', 'queue']), id: text, owner: textOrNull })),
  attendants: entriesPart(number),
  replicas: entriesPart(number),
  rulesOfReplicas: entriesPart(number),
  deadlines: deadlinesPart,
  forgetting: deadlinesPart,
  scopes: mapPart(
    ({ limit, workers }) => [limit, [...workers]],
    (line) => {
      check(line, object({ untilMs: numberOrNull }).nullable(), names);
      const [limit, workers] = line as [{ untilMs: number | null } | null, string[]];
      return { limit, workers: new Set(workers) };
    },
  ),
  queues: mapPart(
    ({ ready, ...fields }) => [
      fields,
      [...ready].map(({ task, priority, createdSeq }) => [task, priority, createdSeq]),
    ],
    (line) => {
      check(line, queueFields, readyTasks);
      const [{ tasks, reported, aloneMs, unattended: noted }, ready] = line as [
        Omit<NonNullable<ReturnType<Fleet['queues']['get']>>, 'ready'>,
        ReadyTuple[],
      ];
      const waiting = ready.map(([task, priority, createdSeq]) => ({ task, priority, createdSeq }));
      return { ready: new ReadyTasks(waiting), tasks, reported, aloneMs, unattended: noted };
    },
  ),
  dependents: mapPart(
    (value) => [[...value]],
    (line) => {
      check(line, names);
      return new Set(line[0] as string[]);
    },
  ),
  tasks: mapPart(writeTask, readTask),
  workers: mapPart(writeWorker, readWorker),
};
