/** Finds the fields of an entry that its type does not have. The log keeps them, but nobody reads them (protocol.md §3). */
import { z } from 'zod';
import { type Area, entrySchemas } from '../../machines/entries/index.ts';
import { nearestOf } from '../text/nearest.ts';

/** `known`: the fields of the type. `meant`: the one that was probably meant, or null. */
export type UnreadField = { readonly field: string; readonly known: readonly string[]; readonly meant: string | null };

/** Returns none if the schema of the type does not list its fields. */
export function findUnread(area: Area, type: string, data: object): readonly UnreadField[] {
  const schemas: Readonly<Record<string, z.ZodType>> = entrySchemas[area];
  const schema = schemas[type];
  if (!(schema instanceof z.ZodObject)) return [];
  const known = Object.keys(schema.shape);
  return Object.keys(data)
    .filter((field) => !known.includes(field))
    .map((field) => ({ field, known, meant: nearestOf(field, known) }));
}
