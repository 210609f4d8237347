/** Converts zod's issues into messages for the author of a configuration. */
import { basename } from 'node:path';
import type { z } from 'zod';
import { describeOne, hasWrongType } from '../../machines/values/describe-issue.ts';
import { nearestOf } from '../text/nearest.ts';
import { describeValue } from './values.ts';

/** Both are 1-based. Columns count UTF-16 units. */
export type Position = { readonly line: number; readonly column: number };
export type Path = readonly PropertyKey[];

/**
 * Returns the position of the value at `path`, or of its key. A missing value has the position of its parent's key (or
 * of the start of the file), and a value inside an alias that of its anchor.
 */
export type Locate = (path: Path, part?: 'key' | 'value') => Position;

/** `stopgate.yaml:12:3` */
export function describePosition({ line, column }: Position, path: string): string {
  return `${basename(path)}:${line}:${column}`;
}

/** `part`: whether the message is about the key or its value. For an unknown key, `path` ends in that key. */
type Fault = { readonly path: Path; readonly part: 'key' | 'value'; readonly message: string };

type Issue = z.core.$ZodIssue;

/** Returns one fault per unknown key and per other issue. Parse with `reportInput`, or the values will not be named. */
export function describeFaults(issues: readonly Issue[], schema: z.core.$ZodType, base: Path = []): Fault[] {
  return issues.flatMap((issue): Fault[] => {
    const path = [...base, ...issue.path];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({
          path: [...path, key],
          part: 'key',
          message: describeUnknownKey(key, knownKeys(schema, path)),
        }));
      case 'invalid_key':
        return issue.issues.map((inner) => ({
          path,
          part: 'key',
          message: describeIssue({ ...inner, input: path.at(-1) } as Issue),
        }));
      case 'invalid_union': {
        const fitting = issue.errors.filter((branch) => !branch.some(hasWrongType));
        if (fitting.length === 1) return describeFaults(fitting[0] as Issue[], schema, path);
        return [{ path, part: 'value', message: describeUnion(issue.errors.flat(), issue.input) }];
      }
      default:
        return [{ path, part: 'value', message: describeIssue(issue) }];
    }
  });
}

function describeIssue(issue: Issue): string {
  const { code, message, input } = issue;
  if (code === 'invalid_type') {
    if (input === undefined) return `"${String(issue.path.at(-1))}" is missing`;
    const quotes =
      issue.expected === 'string' && ['number', 'boolean'].includes(typeof input) ? ': put it in quotes' : '';
    return `expected ${describeExpected(issue)}${describeExample(issue)}, got ${describeValue(input)}${quotes}${describeName(issue)}`;
  }
  if (code === 'invalid_value') return `${describeValue(input)} is not ${describeExpected(issue)}`;
  // Our own messages continue a sentence that starts with the value.
  if (message.startsWith('is ')) return `${describeValue(input)} ${message}${describeName(issue)}`;
  return describeOne(issue, input);
}

/** An example for common mistakes: a word, or a shell command line. */
function describeExample({ path, input, expected }: z.core.$ZodIssueInvalidType): string {
  const [parent, key] = [path.at(-2), path.at(-1)];
  if (typeof input === 'string' && /^[\w./ -]+$/.test(input)) {
    const words = `[${input.trim().split(/\s+/).join(', ')}]`;
    if (key === 'run' || key === 'files') return ` such as ${words}`;
    if (parent === 'commands') return ` such as { run: ${words} }`;
    if (parent === 'checks') return ' such as { plan: {} }';
  }
  if (key === 'checks' && expected === 'array') return ' such as [{ plan: {} }]';
  if (key === 'budget' && expected === 'object') return ' such as { usd: 10 }';
  return key === 'git' && path.includes('checks') ? ' such as { clean: true }' : '';
}

/** A command line in a check is a common mistake. */
const describeName = ({ path }: Issue): string =>
  path.at(-1) === 'command' && path.includes('checks') ? '; a check names one of the commands under "commands"' : '';

function describeUnion(issues: readonly Issue[], input: unknown): string {
  return `expected ${[...new Set(issues.map(describeExpected))].join(' or ')}, got ${describeValue(input)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

function describeExpected(issue: Issue): string {
  if (issue.code === 'invalid_type') return typeNames[issue.expected] ?? issue.expected;
  return issue.code === 'invalid_value'
    ? issue.values.map((value) => JSON.stringify(value)).join(' or ')
    : issue.message;
}

function describeUnknownKey(key: string, known: readonly string[]): string {
  if (key === '<<') return 'merge keys ("<<") are not part of YAML 1.2; repeat the map with an alias instead';
  if (/token|password/i.test(key))
    return `unknown key "${key}"; secrets do not belong here: set STOPGATE_TOKEN or pass --token`;
  const nearest = nearestOf(key, known);
  if (nearest !== null) return `unknown key "${key}"; did you mean "${nearest}"?`;
  return known.length === 0
    ? `unknown key "${key}"; no key is allowed here`
    : `unknown key "${key}"; known keys: ${known.join(', ')}`;
}

/** The keys that the schema allows in the map at `path`. For a union, those of all its maps. */
function knownKeys(schema: z.core.$ZodType, path: Path): string[] {
  const schemas = path.reduce<Concrete[]>(
    (found, segment) => found.flatMap((each) => membersOf(each, segment)).flatMap(unwrap),
    unwrap(schema),
  );
  return schemas.flatMap(({ _zod: { def } }) => (def.type === 'object' ? Object.keys(def.shape) : []));
}

type Concrete = z.core.$ZodTypes;

/** Unwraps types that do not affect keys: optional, nullable, lazy, pipes and transforms (their input), unions. */
function unwrap(schema: z.core.$ZodType): Concrete[] {
  const { def } = (schema as Concrete)._zod;
  if (def.type === 'optional' || def.type === 'nullable' || def.type === 'default') return unwrap(def.innerType);
  if (def.type === 'lazy') return unwrap(def.getter());
  if (def.type === 'pipe') return unwrap(def.in);
  return def.type === 'union' ? def.options.flatMap(unwrap) : [schema as Concrete];
}

function membersOf(schema: Concrete, segment: PropertyKey): z.core.$ZodType[] {
  const { def } = schema._zod;
  if (def.type === 'record') return [def.valueType];
  if (def.type === 'array') return [def.element];
  const member = def.type === 'object' ? def.shape[String(segment)] : undefined;
  return member === undefined ? [] : [member];
}
