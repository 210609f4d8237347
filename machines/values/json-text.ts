/**
 * Values of any form that an entry brings, as they are kept: as JSON. A text of 64 KiB stays one; the objects in it
 * could take a megabyte.
 */

/** JSON of a value, which is parsed when somebody wants to see it. */
export type JsonText = string;

/** Undefined has no JSON, and counts as null. */
export const toJsonText = (value: unknown): JsonText => JSON.stringify(value ?? null);

export const fromJsonText = (text: JsonText): unknown => JSON.parse(text);
