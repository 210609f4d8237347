/**
 * Describes what zod finds wrong, in words that continue after the name of the field: what is allowed, and what is
 * there.
 */
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Found = { readonly path: readonly PropertyKey[]; readonly message: string };

/** @param value what was parsed: zod's issues do not have it */
export function describeIssue(issue: Issue, value: unknown): Found[] {
  const input = at(value, issue.path);
  if (issue.code === 'invalid_union') {
    const meant = issue.errors.filter((branch) => !branch.some(isOfAnotherType));
    if (meant.length === 1)
      return (meant[0] as Issue[]).flatMap((it) =>
        describeIssue(it, input).map(({ path, message }) => ({ path: [...issue.path, ...path], message })),
      );
  }
  return [{ path: issue.path, message: describeOne(issue, input) }];
}

/** A branch of a union that was not meant: the value has another type, or is another word. */
const isOfAnotherType = ({ path, code }: Issue) =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((it: unknown, key) => (it as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}

/** zod begins so if a schema has no message of its own. */
const ofZod = /^(Invalid|Too (small|big)|Unrecognized)/;

/** Describes one issue that is no union, in words that follow the name of its field. */
export function describeOne(issue: Issue, input: unknown): string {
  if (!ofZod.test(issue.message)) return issue.message;
  if (issue.code === 'unrecognized_keys')
    return `has fields that are unknown here: ${issue.keys.map(shown).join(', ')}`;
  if (issue.code === 'invalid_key') return `has the key ${shown(issue.path.at(-1))}, which is not allowed`;
  const expected = expectedBy(issue);
  if (expected === null) return ownWords(issue) ?? `is of no known form: ${shown(input)}`;
  if (input !== undefined) return `must ${expected}, not ${shown(input)}`;
  return issue.code === 'invalid_value' ? `is missing: it must ${expected}` : 'is missing';
}

/** Describes a union whose branches all fit by type, with the first custom message among them. */
const ownWords = (issue: Issue): string | null =>
  issue.code === 'invalid_union'
    ? (issue.errors.flat().find(({ message }) => !ofZod.test(message))?.message ?? null)
    : null;

/** Returns the words that follow "must"; null: there are none. */
function expectedBy(issue: Issue): string | null {
  switch (issue.code) {
    case 'invalid_type':
      return `be ${typeNames[issue.expected] ?? `of the type ${issue.expected}`}`;
    case 'invalid_value':
      return `be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(shown).join(', ')}`;
    case 'too_small':
      return bound(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return bound(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_union': {
      const parts = issue.errors.flat().map((it) => expectedBy(it)?.replace(/^be /, '') ?? null);
      const known = [...new Set(parts.filter((it) => it !== null))];
      return known.length === 0 ? null : `be ${known.join(' or ')}`;
    }
    default:
      return null;
  }
}

function bound(origin: string, most: number, word: string): string {
  const units = { string: 'character', array: 'item', set: 'item', object: 'field', record: 'field' }[origin];
  if (units === undefined) return `be ${word} ${most}`;
  return `have ${word} ${most} ${units}${most === 1 ? '' : 's'}`;
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

/** A value in a message: short, and without what is in it. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > shownCharsMax ? `${JSON.stringify(value.slice(0, shownCharsMax))}…` : JSON.stringify(value);
}
