/** Describes zod issues in words that follow the name of the field: what is allowed, and what was found. */
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Description = { readonly path: readonly PropertyKey[]; readonly message: string };

/** @param value the value that zod parsed; its issues do not include it */
export function describeIssue(issue: Issue, value: unknown): Description[] {
  const input = valueAt(value, issue.path);
  if (issue.code === 'invalid_union') {
    const candidates = issue.errors.filter((branch) => !branch.some(hasWrongType));
    if (candidates.length === 1)
      return (candidates[0] as Issue[]).flatMap((inner) =>
        describeIssue(inner, input).map(({ path, message }) => ({ path: [...issue.path, ...path], message })),
      );
  }
  return [{ path: issue.path, message: describeOne(issue, input) }];
}

/** Tells whether the value cannot be meant for this branch of a union: it has another type, or is another literal. */
export const hasWrongType = ({ path, code }: Issue) =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce(
    (parent: unknown, key) => (parent as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  );
}

/** How zod's default messages begin. */
const defaultMessage = /^(Invalid|Too (small|big)|Unrecognized)/;

/** Describes one issue without looking into the branches of a union. */
export function describeOne(issue: Issue, input: unknown): string {
  if (!defaultMessage.test(issue.message)) return issue.message;
  if (issue.code === 'unrecognized_keys') return `has unknown fields: ${issue.keys.map(show).join(', ')}`;
  if (issue.code === 'invalid_key') return `has the key ${show(issue.path.at(-1))}, which is not allowed`;
  const expected = expectedBy(issue);
  if (expected === null) return customMessage(issue) ?? `is invalid: ${show(input)}`;
  if (input !== undefined) return `must ${expected}, not ${show(input)}`;
  return issue.code === 'invalid_value' ? `is missing: it must ${expected}` : 'is missing';
}

/** Returns the first custom message of a union's branches, or null. */
const customMessage = (issue: Issue): string | null =>
  issue.code === 'invalid_union'
    ? (issue.errors.flat().find(({ message }) => !defaultMessage.test(message))?.message ?? null)
    : null;

/** Returns the words that follow "must", or null if the issue does not say what is allowed. */
function expectedBy(issue: Issue): string | null {
  switch (issue.code) {
    case 'invalid_type':
      return `be ${typeNames[issue.expected] ?? `of the type ${issue.expected}`}`;
    case 'invalid_value':
      return `be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(show).join(', ')}`;
    case 'too_small':
      return bound(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return bound(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_union': {
      const parts = issue.errors.flat().map((inner) => expectedBy(inner)?.replace(/^be /, '') ?? null);
      const known = [...new Set(parts.filter((part) => part !== null))];
      return known.length === 0 ? null : `be ${known.join(' or ')}`;
    }
    default:
      return null;
  }
}

function bound(origin: string, limit: number, word: string): string {
  const units = { string: 'character', array: 'item', set: 'item', object: 'field', record: 'field' }[origin];
  if (units === undefined) return `be ${word} ${limit}`;
  return `have ${word} ${limit} ${units}${limit === 1 ? '' : 's'}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const shownCharsMax = 40;

/** Shows a value in a message: shortened, and without the content of objects and lists. */
function show(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > shownCharsMax ? `${JSON.stringify(value.slice(0, shownCharsMax))}…` : JSON.stringify(value);
}
