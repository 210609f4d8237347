/**
 * The rows of the page's lists and their wire format: an array of values in the order of the fields. Objects with field
 * names would be three times as long (2.3 MB instead of 0.8 MB for 5,000 workers). Imports no schemas, so that the page
 * stays small. Times are milliseconds since 1970 by the log's clock.
 */
import { viewedPresences, workerStates } from '../../machines/values/states.ts';

/** A row on the wire. Only the codecs below know the order of its values. */
export type PackedRow = readonly unknown[];
export type Packed = { readonly workers: PackedRow[]; readonly tasks: PackedRow[]; readonly queues: PackedRow[] };

/** `codec` is null for values sent unchanged. `type` never exists at run time; it carries the value's type. */
type Field<Value> = { readonly codec: ValueCodec | null; readonly type?: Value };
type ValueCodec = { readonly pack: (value: unknown) => unknown; readonly unpack: (packed: unknown) => unknown };

const plain = <Value>(): Field<Value> => ({ codec: null });
/** Sent as an index. A value that this version does not know becomes the first one. */
const oneOf = <const Value extends string>(values: readonly Value[]): Field<Value> => ({
  codec: {
    pack: (value) => Math.max(0, values.indexOf(value as Value)),
    unpack: (packed) => values[packed as number] ?? values[0],
  },
});
/** Sent as 0 or 1. */
const flag: Field<boolean> = { codec: { pack: Number, unpack: Boolean } };

type RowOf<Fields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field<infer Value> ? Value : never;
};
export type RowCodec<Row> = { pack(row: Row): PackedRow; unpack(packed: PackedRow): Row };

/** The first field must be `id` (see `idOf`). */
function createRowCodec<Fields extends Readonly<Record<string, Field<unknown>>>>(
  fields: Fields,
): RowCodec<RowOf<Fields>> {
  const names = Object.keys(fields);
  const coded = names.flatMap((name, index) => {
    const codec = fields[name]?.codec ?? null;
    return codec === null ? [] : [{ name, at: index, codec }];
  });
  // Filling a copy of a complete row is three times as fast as adding fields one by one.
  const empty: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, null]));
  return {
    pack(row) {
      const values: unknown[] = names.map((name) => row[name]);
      for (const { at: index, codec } of coded) values[index] = codec.pack(values[index]);
      return values;
    },
    unpack(packed) {
      const row = { ...empty };
      let index = 0;
      for (const name of names) row[name] = packed[index++];
      for (const { name, codec } of coded) row[name] = codec.unpack(row[name]);
      return row as RowOf<Fields>;
    },
  };
}

/** Returns the id of a packed row. */
export const idOf = (packed: PackedRow): string => packed[0] as string;

export type WorkerRow = typeof workerRows extends RowCodec<infer Row> ? Row : never;
export const workerRows = createRowCodec({
  id: plain<string>(),
  title: plain<string | null>(),
  state: oneOf(workerStates),
  presence: oneOf(viewedPresences),
  retryCount: plain<number>(),
  retryMax: plain<number | null>(),
  keepAlives: plain<number>(),
  /** Start of the idle time. Null while a task is held. */
  idleSinceMs: plain<number | null>(),
  idleLimitMs: plain<number | null>(),
  task: plain<string | null>(),
  tasksHeld: plain<number>(),
  agent: plain<string | null>(),
  lastDecision: plain<'allow' | 'block' | null>(),
  lastCause: plain<string | null>(),
  lastDecisionMs: plain<number | null>(),
  lastSeenMs: plain<number>(),
  parent: plain<string | null>(),
  waitsFor: plain<string | null>(),
  waitUntilMs: plain<number | null>(),
  isAcknowledged: flag,
  planDone: plain<number>(),
  planTotal: plain<number>(),
  policy: plain<string>(),
  queue: plain<string>(),
  /** The worker's status in one sentence: `sentence` of its view. */
  sentence: plain<string>(),
  /** When it last entered a state, or null if it never has. */
  stateSinceMs: plain<number | null>(),
  /** Since when it is in its state. A further attempt does not end an escalation. */
  sinceMs: plain<number>(),
  /** The cause of its open escalation, which it keeps while a further attempt is judged. Null if there is none. */
  escalatedFor: plain<string | null>(),
  /** Whether it has asked a person for something. */
  awaitsInput: flag,
  /** Usage of this session as reported by the agent. Both 0 if nothing was reported. */
  usd: plain<number>(),
  tokens: plain<number>(),
  /** Who paused it, so that its stops are not judged. Null if not paused. */
  pausedBy: plain<string | null>(),
  /** Null while paused means until the session ends. */
  pausedUntilMs: plain<number | null>(),
  /** Whether it stopped but will be woken, by background work or the end of a usage limit. */
  isWaiting: flag,
  /** Since when it waits for a person, or null. */
  personSinceMs: plain<number | null>(),
  /** When its agent gives up waiting for an operator's answer. Null if no question is held. */
  askUntilMs: plain<number | null>(),
  /** Equal for workers with the same question and the same failure. Null if it waits for nobody. */
  matter: plain<number | null>(),
});

export type TaskRow = typeof taskRows extends RowCodec<infer Row> ? Row : never;
export const taskRows = createRowCodec({
  id: plain<string>(),
  state: oneOf(workerStates),
  worker: plain<string | null>(),
  queue: plain<string | null>(),
  title: plain<string | null>(),
  iteration: plain<number | null>(),
  maxIterations: plain<number | null>(),
  hooks: plain<number>(),
  outcome: plain<'completed' | 'cancelled' | null>(),
  /** The task's status in one sentence: `sentence` of its view. */
  sentence: plain<string>(),
  stateSinceMs: plain<number | null>(),
  /** The worker escalated by the same entry. Null if there is none or the task is not escalated. */
  escalatedWith: plain<string | null>(),
  priority: plain<number>(),
  /** The entry that created it. With equal priority, the older task goes first. */
  createdSeq: plain<number>(),
  /** Usage of all workers while they held the task. */
  usd: plain<number>(),
  tokens: plain<number>(),
  /** When it entered its state, or was created. */
  sinceMs: plain<number>(),
  /** When its worker claimed it. Null if nobody holds it. */
  heldSinceMs: plain<number | null>(),
  /** When it was escalated. Null if it is not. */
  escalatedSinceMs: plain<number | null>(),
  isAcknowledged: flag,
  /** Equal for tasks that were escalated for the same. Null if it is not escalated. */
  matter: plain<number | null>(),
});

export type QueueRow = typeof queueRows extends RowCodec<infer Row> ? Row : never;
export const queueRows = createRowCodec({
  id: plain<string>(),
  pending: plain<number>(),
  reported: plain<number>(),
  /** Number of live workers that could take its tasks. */
  workers: plain<number>(),
  /** Since when no worker serves the queue, if that was reported to people. Otherwise null. */
  unattendedMs: plain<number | null>(),
  /** The operator who acknowledged that. */
  acknowledgedBy: plain<string | null>(),
});
