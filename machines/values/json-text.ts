/**
 * Values of any form that an entry contains are kept as JSON text: 64 KiB of text stay 64 KiB, while as objects they
 * could take a megabyte.
 */

/** JSON of a value, which is parsed when somebody wants to see it. */
export type JsonText = string;

/** Undefined has no JSON, and counts as null. */
export const toJsonText = (value: unknown): JsonText => JSON.stringify(value ?? null);

export const fromJsonText = (text: JsonText): unknown => JSON.parse(text);

/** The most bytes that one UTF-16 unit of a string takes: `\uXXXX`. */
export const unitLengthMax = 6;
const numberLengthMax = 25;

/**
 * At least the bytes that the value takes as JSON in UTF-8: from the lengths of its texts, much faster than making the
 * JSON. `Infinity` for what would make its own JSON.
 */
export function jsonLengthMax(value: unknown): number {
  if (typeof value === 'string') return unitLengthMax * value.length + 2;
  if (typeof value !== 'object' || value === null) return numberLengthMax;
  if ('toJSON' in value) return Number.POSITIVE_INFINITY;
  let length = 2;
  if (Array.isArray(value)) for (const item of value) length += jsonLengthMax(item) + 1;
  else
    for (const key of Object.keys(value))
      length += unitLengthMax * key.length + 4 + jsonLengthMax((value as Record<string, unknown>)[key]);
  return length;
}
