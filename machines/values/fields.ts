/**
 * Tables of fields. One table describes a record of the fold (a worker, a task, a decision): for each field its initial
 * value, its schema in a snapshot, and its share of the state's size. Everything else is derived from the table.
 */
import type { z } from 'zod';

/** An unchecked JSON value. */
export type Json = unknown;

export type Field<Value> = {
  /** The value in a new record. Snapshots omit a field that still has it. */
  readonly start: Value;
  /** Checks the value in a snapshot. The value is used as read, not as parsed by the schema. */
  readonly schema: z.ZodType;
  /** Size in units of the state (`fleet/state-size.ts`), or null if the fixed size of the record covers it. */
  readonly size: ((value: NonNullable<Value>, record: never) => number) | null;
  /** Converts the value for snapshots; null if it is written unchanged. `schema` describes the written form. */
  readonly codec: { readonly write: (value: Value) => Json; readonly read: (written: never) => Value } | null;
};

type AnyField = {
  readonly start: unknown;
  readonly schema: z.ZodType;
  readonly size: ((value: never, record: never) => number) | null;
  readonly codec: { readonly write: (value: never) => Json; readonly read: (written: never) => unknown } | null;
};
export type Fields = Readonly<Record<string, AnyField>>;

/** The record that a table describes. */
export type RecordOf<Table extends Fields> = { readonly [Name in keyof Table]: Table[Name]['start'] };

export const field = <Value>(start: Value, schema: z.ZodType, size: Field<Value>['size'] = null): Field<Value> => ({
  start,
  schema,
  size,
  codec: null,
});

/** A field that snapshots write in another form. */
export const codedField = <Value, Written>(
  start: Value,
  schema: z.ZodType<Written>,
  codec: { readonly write: (value: Value) => Written; readonly read: (written: Written) => Value },
): Field<Value> => ({ start, schema, size: null, codec });

/** A schema for each key of an object type. A missing key is a compile error. */
export type ShapeOf<Value> = { readonly [Key in keyof Required<Value>]: z.ZodType };

/** Returns a record with the initial values. */
export const startOf = <Table extends Fields>(table: Table): RecordOf<Table> =>
  Object.fromEntries(Object.entries(table).map(([name, { start }]) => [name, start])) as RecordOf<Table>;

/** Returns the fields of `record` that differ from their initial values, except those in `omitted`. */
export function changesOf(table: Fields, record: object, omitted: ReadonlySet<string>): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const name in table) {
    const value = (record as Record<string, unknown>)[name];
    const { start, codec } = table[name] as AnyField;
    if (omitted.has(name) || isSame(value, start)) continue;
    changed[name] = codec === null ? value : codec.write(value as never);
  }
  return changed;
}

/** Copies the named fields of a record. */
export function pick(record: object, names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) picked[name] = (record as Record<string, unknown>)[name];
  return picked;
}

/**
 * Checks and decodes the fields of a snapshot, in place. Removes unknown fields, which a later release may have
 * written.
 * @throws Error naming the field with an invalid value
 */
export function checkFields(table: Fields, given: unknown): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('expected an object of fields');
  const fields = given as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const row = Object.hasOwn(table, name) ? table[name] : undefined;
    if (row === undefined) delete fields[name];
    else {
      checkValue(row.schema, fields[name], name);
      if (row.codec !== null) fields[name] = row.codec.read(fields[name] as never);
    }
  }
  return fields;
}

/** @throws Error naming the path of the invalid value */
export function checkValue(schema: z.ZodType, value: unknown, name: string): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const [{ path, message } = { path: [], message: '' }] = error.issues;
  throw new Error(`invalid value: ${[name, ...path.map(String), message].join(': ')}`);
}

/** Treats an empty list and an empty object as equal: no field can be both. */
const isSame = (a: unknown, b: unknown): boolean => a === b || (isEmpty(a) && isEmpty(b));

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}

/** Tells whether two values have the same JSON. Also false if only the order of the keys differs. */
export function isEqualJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqualJson(item, b[index]));
  const names = Object.keys(a);
  const others = Object.keys(b);
  return (
    !Array.isArray(b) &&
    names.length === others.length &&
    names.every(
      (name, index) =>
        name === others[index] && isEqualJson((a as Record<string, Json>)[name], (b as Record<string, Json>)[name]),
    )
  );
}

/** Lists the fields that have a size. */
export const sizesOf = (table: Fields): readonly SizedField[] =>
  Object.entries(table).flatMap(([name, { size }]) => (size === null ? [] : [{ name, size }]));

type SizedField = { readonly name: string; readonly size: (value: never, record: never) => number };

/** Returns how much larger `after` is than `before`. Measures only changed fields; most steps change none. */
export function growthOf(sizes: readonly SizedField[], before: object | null, after: object): number {
  if (before === after) return 0;
  const from = before as Record<string, unknown> | null;
  const to = after as Record<string, unknown>;
  let growth = 0;
  for (const { name, size } of sizes) {
    const next = to[name];
    const previous = from === null ? null : from[name];
    if (next === previous) continue;
    if (next != null) growth += size(next as never, to as never);
    if (previous != null) growth -= size(previous as never, from as never);
  }
  return growth;
}

/** What each item of a list or field of an object adds to an estimated size, apart from its content. */
export const perItem = 64;

/**
 * Estimates the size of a JSON value: the UTF-16 units of its strings, and `perItem` for each item and field. Keys,
 * numbers, booleans and empty lists count as 0.
 */
export function sizeOfJson(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += perItem + sizeOfJson(item);
  else
    for (const key of Object.keys(value)) {
      const held = (value as Record<string, unknown>)[key];
      // JSON omits undefined, and the size must be the same after a restart.
      if (held !== undefined) size += perItem + sizeOfJson(held);
    }
  return size;
}
