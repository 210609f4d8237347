/** The parts of a fleet, each with how it is captured, written and restored. A part without a row does not compile. */
import { z } from 'zod';
import type { Policy } from '../../policy/policy.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { Rules } from '../../rules/rules.ts';
import type { Unattended } from '../../values/escalation.ts';
import type { Period } from '../../values/usage.ts';
import { type Fleet, setRules } from '../fleet.ts';
import { type ReadyTask, ReadyTasks } from '../queues/ready-tasks.ts';
import { Packed, type SnapshotMap } from '../snapshot-map.ts';
import { type Deadlines, deadlineKinds } from '../time/deadlines.ts';
import { decodePacked, decodeTask, decodeWorker, encodeTask, encodeWorker, joinLine } from './actors.ts';
import { type DecisionTemplate, textOfTemplate } from './decision-text.ts';
import type { Packer, Unpacker } from './packing.ts';
import { judge, judgeAs } from './shapes.ts';
import { endOfUsualTuple } from './usual-text.ts';
import { isAtRest, packWorker } from './worker-text.ts';

/** `key`: without a space. `shared`: the number of its shared part, or `-`. */
export type Text = readonly [key: string, json: string, shared?: number | '-'];
/** `json` may be called at once, or when its content is first needed. `shared` null: the line has none. */
export type Line = { readonly key: string; readonly json: () => string; readonly shared: string | null };

export type CapturedPart = {
  /** Iterate it once, at any pace. */
  texts(packer: Packer): Iterable<Text>;
  release(): void;
};

type Part<Value> = {
  capture(value: Value, fleet: Fleet): CapturedPart;
  /** @returns the value with the content of the line */
  restore(value: Value, line: Line, fleet: Fleet, unpacker: Unpacker): Value;
};

/** Fields that are no state: arguments of `createFleet`, and what is empty between two entries. */
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

/** One line has this many small values. */
const perLine = 1_000;
const nothing = () => {};
/** The key of a line that needs none. */
const none = '-';

const number: Part<number> = {
  capture: (value) => ({ texts: () => [[none, String(value)]], release: nothing }),
  restore(_value, { json }) {
    const read = JSON.parse(json()) as number;
    judge(z.number(), read);
    return read;
  },
};

const list = <Item>(items: readonly Item[], toJson: (some: readonly Item[]) => unknown): CapturedPart => ({
  *texts() {
    for (let from = 0; from < items.length; from += perLine)
      yield [none, JSON.stringify(toJson(items.slice(from, from + perLine)))];
  },
  release: nothing,
});

const names: Part<Set<string>> = {
  capture: (value) => list([...value], (it) => it),
  restore(value, { json }) {
    for (const name of readTexts(json())) value.add(name);
    return value;
  },
};

function readTexts(json: string): string[] {
  const read = JSON.parse(json) as string[];
  judge(z.array(z.string()), read);
  return read;
}

/** Writes a map whose values are never changed in place. */
function plainMap<Value>(shape: z.ZodType): Part<Map<string, Value>> {
  const entries = z.array(z.tuple([z.string(), shape]));
  return {
    capture: (value) => list([...value], (it) => it),
    restore(value, { json }) {
      const read = JSON.parse(json()) as [string, Value][];
      judge(entries, read);
      for (const [key, held] of read) value.set(key, held);
      return value;
    },
  };
}

/**
 * Writes the heap in its own order, so that it comes back as it was. The list is flat, since it is read before anything
 * can go on.
 */
const deadlines: Part<Deadlines> = {
  capture(value) {
    const copied = value.copy();
    return {
      *texts() {
        for (let from = 0; from < copied.size; from += perLine) {
          const some = copied.toArray(from, from + perLine);
          const flat = some.flatMap(({ atMs, kind, id, attempt }) => [atMs, deadlineKinds.indexOf(kind), id, attempt]);
          yield [none, JSON.stringify(flat)];
        }
      },
      release: nothing,
    };
  },
  restore(value, { json }) {
    const flat = JSON.parse(json()) as unknown[];
    // Every worker has one or two of them, so by hand.
    for (let at = 0; at < flat.length; at += 4) {
      const atMs = flat[at];
      const kind = deadlineKinds[flat[at + 1] as number];
      const id = flat[at + 2];
      const attempt = flat[at + 3];
      if (typeof atMs !== 'number' || kind === undefined || typeof id !== 'string' || typeof attempt !== 'string')
        throw new Error('it holds a deadline of another form');
      value.push({ atMs, kind, id, attempt });
    }
    return value;
  },
};

type Coding<Value> = {
  encode(fleet: Fleet, key: string, value: Value, packer: Packer): string;
  /** @throws Error: the text is of another form */
  decode(fleet: Fleet, key: string, text: string, unpacker: Unpacker): Value;
  /** Judges what may be decoded later. Default: it is decoded at once. @throws Error: it is of another form */
  judge?(text: string, unpacker: Unpacker, decode: () => Value): void;
};

/** One line for each value, which is decoded when it is first needed. Keys are ids. */
function map<Value extends object>({ encode, decode, judge }: Coding<Value>): Part<SnapshotMap<Value>> {
  return {
    capture(value, fleet) {
      const { keys, read, release } = value.capture();
      return {
        *texts(packer) {
          for (const key of keys) yield [key, encode(fleet, key, read(key) as Value, packer)];
        },
        release,
      };
    },
    restore(value, { key, json }, fleet, unpacker) {
      const decodeIt = () => decode(fleet, key, json(), unpacker);
      if (judge === undefined) return value.set(key, decodeIt());
      judge(json(), unpacker, decodeIt);
      value.setEncoded(key, decodeIt);
      return value;
    },
  };
}

/** Two tasks that differ in longer numbers and in texts that are no words of ours have the same form. */
const formOf = (text: string): string =>
  text
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, (it) => (/^"[a-z]{1,20}"$/.test(it) ? it : '""'))
    .replaceAll(/\d{3,15}/g, '000');

/**
 * Writes the workers. Stopped workers are written as they are held: nothing is encoded for them, and nothing decoded.
 */
const workers: Part<Fleet['workers']> = {
  capture(value) {
    const { keys, read, release } = value.capture();
    return {
      *texts(packer) {
        for (const key of keys) {
          const found = read(key);
          if (found instanceof Packed) yield textOf(key, found, packer);
          else if (isAtRest(found)) yield textOf(key, packWorker(found), packer);
          else yield [key, encodeWorker(found, packer)];
        }
      },
      release,
    };
  },
  restore(value, { key, json, shared }, fleet, unpacker) {
    const isOwn = unpacker.hasOwnLegend();
    if (shared === null) {
      const decode = () => decodeWorker(fleet, key, json(), unpacker);
      const text = json();
      const end = isOwn ? endOfUsualTuple(text, 1) : -1;
      // Behind the tuple stand the decision's template and the open attempt.
      if (end < 0) judgeAs('worker', decode());
      else unpacker.judgeOnce(text.slice(end), () => judgeAs('worker', decode()));
      value.setEncoded(key, decode);
      return value;
    }
    const template = shared === '-' ? null : unpacker.decision(Number(shared));
    const text = json();
    const decode = () => decodePacked(fleet, key, text, template, unpacker);
    if (!isOwn || endOfUsualTuple(text, 0) !== text.length) judgeAs('worker', decode());
    if (isOwn) value.setPacked(key, new Packed(text, template));
    else value.setEncoded(key, decode);
    return value;
  },
};

function textOf(key: string, { text, shared }: Packed, packer: Packer): Text {
  if (shared === null) return [key, text, '-'];
  const number = packer.shareDecision(textOfTemplate(shared as DecisionTemplate));
  return number === null ? [key, joinLine(text, shared as DecisionTemplate, packer)] : [key, text, number];
}

const scopeShape = z.tuple([
  z.string(),
  z.looseObject({ untilMs: z.number().nullable() }).nullable(),
  z.array(z.string()),
]);
type Scope = Fleet['scopes'] extends SnapshotMap<infer Value> ? Value : never;

/** The name of a scope may be any text. */
const scopes: Part<Fleet['scopes']> = {
  capture(value) {
    const { keys, read, release } = value.capture();
    return {
      *texts() {
        for (const key of keys) {
          const { limit, workers } = read(key) as Scope;
          yield [none, JSON.stringify([key, limit, [...workers]])];
        }
      },
      release,
    };
  },
  restore(value, { json }) {
    const read = JSON.parse(json()) as [string, Scope['limit'], string[]];
    judge(scopeShape, read);
    const [name, limit, workers] = read;
    return value.set(name, { limit, workers: new Set(workers) });
  },
};

const policies: Part<PolicySet> = {
  capture: (value) => ({
    texts: () => [[none, JSON.stringify({ ...value, policies: [...value.policies] })]],
    release: nothing,
  }),
  restore(_value, { json }) {
    const read = JSON.parse(json()) as PolicySet & { policies: [string, Policy][] };
    judgeAs('policySet', read);
    return { ...read, policies: new Map(read.policies) };
  },
};

const day: Part<Period> = {
  capture: (value) => ({ texts: () => [[none, JSON.stringify(value)]], release: nothing }),
  restore(_value, { json }) {
    const read = JSON.parse(json()) as Period;
    judgeAs('period', read);
    return read;
  },
};

type ReadyTuple = readonly [task: string, priority: number, createdSeq: number];
type QueueTuple = readonly [
  reported: number,
  tasks: number,
  aloneMs: number | null,
  unattended: Unattended | null,
  ...ready: ReadyTuple[],
];
const tupleOf = ({ task, priority, createdSeq }: ReadyTask): ReadyTuple => [task, priority, createdSeq];

/** Comes before the parts that the machines of these rules decode. */
const rules: Part<Rules> = {
  capture: ({ version }) => ({ texts: () => [[none, String(version)]], release: nothing }),
  restore(_value, { json }, fleet) {
    const version = JSON.parse(json()) as number;
    judge(z.int().positive(), version);
    setRules(fleet, version);
    return fleet.rules;
  },
};

/** Nothing is folded after unknown rules, so there is never a snapshot with them. */
const unknownRules: Part<number | null> = {
  capture: () => ({ texts: () => [], release: nothing }),
  restore: (value) => value,
};

const unattendedShape = z.looseObject({
  seq: z.number(),
  since: z.string(),
  at: z.string(),
  notified: z.number(),
  notifiedAt: z.string().nullable(),
  acknowledgedBy: z.string().nullable(),
  acknowledgedAt: z.string().nullable(),
});
const queueShape = z.tuple(
  [z.number(), z.number(), z.number().nullable(), unattendedShape.nullable()],
  z.tuple([z.string(), z.number(), z.number()]),
);

export const parts: Parts = {
  rules,
  unknownRules,
  nowMs: number,
  seq: number,
  policySeq: number,
  deadlinesKept: number,
  stateSize: number,
  day,
  policies,
  open: names,
  held: names,
  evaluating: names,
  arrivals: names,
  reports: names,
  unplacedDecisions: plainMap(z.array(z.string())),
  pastClaims: plainMap(z.looseObject({ task: z.string(), atMs: z.number() })),
  escalated: plainMap(
    z.looseObject({ entity: z.enum(['worker', 'task']), id: z.string(), owner: z.string().nullable() }),
  ),
  neglected: plainMap(
    z.looseObject({ entity: z.enum(['worker', 'queue']), id: z.string(), owner: z.string().nullable() }),
  ),
  attendants: plainMap(z.number()),
  replicas: plainMap(z.number()),
  rulesOfReplicas: plainMap(z.number()),
  deadlines,
  forgetting: deadlines,
  scopes,
  queues: map({
    encode: (_fleet, _key, { ready, tasks, reported, aloneMs, unattended }) =>
      JSON.stringify([reported, tasks, aloneMs, unattended, ...[...ready].map(tupleOf)]),
    decode(_fleet, _key, text) {
      const read = JSON.parse(text) as QueueTuple;
      judge(queueShape, read);
      const [reported, tasks, aloneMs, unattended, ...ready] = read;
      const waiting = ready.map(([task, priority, createdSeq]) => ({ task, priority, createdSeq }));
      return { ready: new ReadyTasks(waiting), tasks, reported, aloneMs, unattended };
    },
  }),
  dependents: map({
    encode: (_fleet, _key, value) => JSON.stringify([...value]),
    decode: (_fleet, _key, text) => new Set(readTexts(text)),
  }),
  tasks: map({
    encode: encodeTask,
    decode: decodeTask,
    judge: (text, unpacker, decode) => unpacker.judgeOnce(formOf(text), () => judgeAs('task', decode())),
  }),
  workers,
};
