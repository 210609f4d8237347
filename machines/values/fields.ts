/**
 * Tables of fields. A record that the fold keeps (a worker, a task, a decision) is described by one table: how each field
 * begins, what a snapshot may hold of it, and what it adds to the size of the state. Everything else follows from it.
 */
import type { z } from 'zod';

/** A value of JSON that was not checked yet. */
export type Json = unknown;

export type Field<Value> = {
  /** Its value in a new record. A snapshot leaves it out while it has this value. */
  readonly start: Value;
  /** What a snapshot may hold of it. It only checks: the value is taken as it is. */
  readonly schema: z.ZodType;
  /** Size in units of the state (`fleet/state-size.ts`). Without it the fixed size of the record covers it. */
  readonly size: ((value: NonNullable<Value>, record: never) => number) | null;
  /** How a snapshot writes it, where it is not written as it is. `schema` is of what is written. */
  readonly codec: { readonly write: (value: Value) => Json; readonly read: (kept: never) => Value } | null;
};

type AnyField = {
  readonly start: unknown;
  readonly schema: z.ZodType;
  readonly size: ((value: never, record: never) => number) | null;
  readonly codec: { readonly write: (value: never) => Json; readonly read: (kept: never) => unknown } | null;
};
export type Fields = Readonly<Record<string, AnyField>>;

/** The record that a table describes. */
export type RecordOf<Table extends Fields> = { readonly [Name in keyof Table]: Table[Name]['start'] };

export const field = <Value>(
  start: Value,
  schema: z.ZodType,
  size: Field<Value>['size'] | undefined = undefined,
): Field<Value> => ({ start, schema, size: size ?? null, codec: null });

/** A field that a snapshot writes in another form. */
export const codedField = <Value, Kept>(
  start: Value,
  schema: z.ZodType<Kept>,
  codec: { readonly write: (value: Value) => Kept; readonly read: (kept: Kept) => Value },
): Field<Value> => ({ start, schema, size: null, codec });

/** The schemas of an object whose keys must be complete: a missing one does not compile. */
export type ShapeOf<Value> = { readonly [Key in keyof Required<Value>]: z.ZodType };

/** A record in which every field is as it begins. */
export const startOf = <Table extends Fields>(table: Table): RecordOf<Table> =>
  Object.fromEntries(Object.entries(table).map(([name, { start }]) => [name, start])) as RecordOf<Table>;

/** The fields of `record` that are not as they begin; those of `omitted` are left out. */
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

/** Some of the fields of a record. */
export function pick(record: object, names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) picked[name] = (record as Record<string, unknown>)[name];
  return picked;
}

/**
 * Checks fields that were read, and decodes them. Unknown ones are a later release's, and are removed.
 * @throws Error naming the field whose value is of another form
 */
export function checkFields(table: Fields, given: unknown): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('it holds no fields');
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

/** @throws Error naming the place whose value is of another form */
export function checkValue(schema: z.ZodType, value: unknown, name: string): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const [{ path, message } = { path: [], message: '' }] = error.issues;
  throw new Error(`it holds something of another form: ${[name, ...path.map(String), message].join(': ')}`);
}

/** An empty list equals an empty object: no field is ever the one and then the other. */
const isSame = (a: unknown, b: unknown): boolean => a === b || (isEmpty(a) && isEmpty(b));

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}

/** Tells whether two values have the same JSON. False may also mean that their keys have another order. */
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

/** Those of its fields that have a size, with their names. */
export const sizesOf = (table: Fields): readonly SizedField[] =>
  Object.entries(table).flatMap(([name, { size }]) => (size === null ? [] : [{ name, size }]));

export type SizedField = { readonly name: string; readonly size: (value: never, record: never) => number };

/** How much larger `after` is than `before`. Only what has changed is measured: after most steps nothing has. */
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

/** An object of a list, with its header and pointers. */
export const perItem = 64;

/** Returns the size of a value that came as JSON; empty lists and objects count as nothing. */
export function sizeOfJson(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += perItem + sizeOfJson(item);
  else
    for (const key of Object.keys(value)) {
      const held = (value as Record<string, unknown>)[key];
      // JSON leaves it out, and after a restart the size must be the same.
      if (held !== undefined) size += perItem + sizeOfJson(held);
    }
  return size;
}
