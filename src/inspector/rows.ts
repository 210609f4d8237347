/**
 * The rows of the page's lists, one named object an actor, and the only place that knows how they are sent: as the values
 * in the order of their fields. With the names, and states spelled out, the thousands of rows that a page gets at first
 * would be three times as long: 2.3 MB instead of 0.8 for 5,000 workers. The file has no schemas, so that the page can
 * load it alone. Times are milliseconds since 1970 by the log's clock.
 */
import { presences, workerStates } from '../../machines/values/states.ts';

/** A row as it is sent. Only the codecs below know its order. */
export type PackedRow = readonly unknown[];
export type Packed = { readonly workers: PackedRow[]; readonly tasks: PackedRow[]; readonly queues: PackedRow[] };

/** `codec`: how the values are sent; null: as they are. `type` is not there: it carries the type of the values. */
type Field<Value> = { readonly codec: ValueCodec | null; readonly type?: Value };
type ValueCodec = { readonly pack: (value: unknown) => unknown; readonly unpack: (packed: unknown) => unknown };

const plain = <Value>(): Field<Value> => ({ codec: null });
/** Sent as its index. What a newer service knows alone is the first. */
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

/** The first of the fields is `id`: see `idOf`. */
function createRowCodec<Fields extends Readonly<Record<string, Field<unknown>>>>(
  fields: Fields,
): RowCodec<RowOf<Fields>> {
  const names = Object.keys(fields);
  const coded = names.flatMap((name, at) => {
    const codec = fields[name]?.codec ?? null;
    return codec === null ? [] : [{ name, at, codec }];
  });
  // To fill a copy of a whole row takes a third of the time of adding one field after the other.
  const empty: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, null]));
  return {
    pack(row) {
      const values: unknown[] = names.map((name) => row[name]);
      for (const { at, codec } of coded) values[at] = codec.pack(values[at]);
      return values;
    },
    unpack(packed) {
      const row = { ...empty };
      let at = 0;
      for (const name of names) row[name] = packed[at++];
      for (const { name, codec } of coded) row[name] = codec.unpack(row[name]);
      return row as RowOf<Fields>;
    },
  };
}

/** Returns the id of a row that is kept as it was sent. */
export const idOf = (packed: PackedRow): string => packed[0] as string;

export type WorkerRow = typeof workerRows extends RowCodec<infer Row> ? Row : never;
export const workerRows = createRowCodec({
  id: plain<string>(),
  state: oneOf(workerStates),
  presence: oneOf(presences),
  retryCount: plain<number>(),
  retryMax: plain<number | null>(),
  keepAlives: plain<number>(),
  /** Idle time counts from here; null while a task is held. */
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
  /** One sentence that says how it stands: `sentence` of its view. */
  sentence: plain<string>(),
  /** The time at which it came into its state. */
  stateSinceMs: plain<number | null>(),
  /** It asked a person for something. */
  awaitsInput: flag,
  /** Used in this session, as its agent reports it; 0 and 0: nothing was reported. */
  usd: plain<number>(),
  tokens: plain<number>(),
  /** Who has paused it, so that its stops are not judged; null: nobody. `pausedUntilMs` null: until its session ends. */
  pausedBy: plain<string | null>(),
  pausedUntilMs: plain<number | null>(),
  /** It has stopped for something that will wake it: background work that goes on, or the end of its usage limit. */
  isWaiting: flag,
  /** Since when it waits for a person; null: it does not. */
  personSinceMs: plain<number | null>(),
  /** The time at which its agent gives up waiting for an operator's answer; null: none is held for one. */
  askUntilMs: plain<number | null>(),
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
  /** One sentence that says how it stands: `sentence` of its view. */
  sentence: plain<string>(),
  stateSinceMs: plain<number | null>(),
  /** The worker that was escalated by the same entry; null: it is not escalated, or was without one. */
  escalatedWith: plain<string | null>(),
  priority: plain<number>(),
  /** The entry that created it: with equal priority the older goes first. */
  createdSeq: plain<number>(),
  /** Used by all workers that had claimed it last. */
  usd: plain<number>(),
  tokens: plain<number>(),
  /** Since when it is in its state; one that was never claimed, since it was last named. */
  sinceMs: plain<number>(),
});

export type QueueRow = typeof queueRows extends RowCodec<infer Row> ? Row : never;
export const queueRows = createRowCodec({
  id: plain<string>(),
  pending: plain<number>(),
  reported: plain<number>(),
  /** The number of workers that are alive and could take its tasks. */
  workers: plain<number>(),
  /** From when on nobody could, if people are told of it; null: they are not. */
  unattendedMs: plain<number | null>(),
  /** Who looks after it, if people are told of it. */
  acknowledgedBy: plain<string | null>(),
});
