/**
 * Reads the words after a command's name. citty makes values of them; what it lets pass (unknown options, missing
 * values, words too many) is refused here first, since a misspelt option must not be ignored.
 */
import { parseArgs as readTokens } from 'node:util';
import { type ArgDef, type ArgsDef, parseArgs } from 'citty';
import { AppError } from '../errors.ts';
import type { Command } from './command.ts';
import { suggest } from './suggestion.ts';

/** The values of a command's options: a boolean is false where it is not given. */
export type Flags<Args extends ArgsDef> = { readonly [Name in keyof Args]: Flag<Args[Name]> };
type Flag<Arg extends ArgDef> = Arg extends { type: 'boolean' }
  ? boolean
  : Arg extends { type: 'positional'; required: false }
    ? string | undefined
    : Arg extends { type: 'positional' }
      ? string
      : Arg extends { type: 'enum'; options: (infer Option)[] }
        ? Option | undefined
        : string | undefined;

type Given = { readonly flags: Flags<ArgsDef>; readonly words: readonly string[] };

/** @throws AppError input.bad, with where the right usage stands */
export function readArguments(argv: readonly string[], name: string, command: Command): Given {
  const tokens = readTokens({
    args: [...argv],
    options: Object.fromEntries(Object.entries(command.args).filter(isOption).map(toOption)),
    allowPositionals: true,
    strict: false,
    tokens: true,
  }).tokens;
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const faults = tokens.map((token) => (token.kind === 'option' ? faultOfOption(token, command.args) : null));
  const fault = faults.find((each) => each !== null) ?? faultOfWords(words, command);
  if (fault !== null) throw new AppError('input.bad', `${fault} (see "stopgate ${name} --help")`);
  const parsed = parseArgs([...argv], withoutRequired(command.args)) as Record<string, unknown>;
  const flags = Object.entries(command.args).map(([arg, { type }]) => {
    const value = isRepeatable(command.args[arg]) ? everyValue(arg, tokens) : parsed[arg];
    return [arg, type === 'boolean' ? value === true : value];
  });
  return { flags: Object.fromEntries(flags), words };
}

/** Its hint says so: `W…`. What was given is then all of it, joined by commas. */
const isRepeatable = (arg: ArgDef | undefined) => arg?.valueHint?.endsWith('…') ?? false;
const everyValue = (arg: string, tokens: readonly { kind: string; name?: string; value?: string | undefined }[]) =>
  tokens.flatMap(({ kind, name, value }) => (kind === 'option' && name === arg ? [value] : [])).join(',') || undefined;

export const isOption = ([, { type }]: [string, ArgDef]): boolean => type !== 'positional';
export const isRequired = (arg: ArgDef): boolean => arg.type === 'positional' && arg.required !== false;

const toOption = ([name, { type }]: [string, ArgDef]) =>
  [name, { type: type === 'boolean' ? 'boolean' : 'string' }] as const;

// Missing words are reported here, in our own form.
const withoutRequired = (args: ArgsDef): ArgsDef =>
  Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [name, arg.type === 'positional' ? { ...arg, required: false } : arg]),
  );

function faultOfWords(words: readonly string[], { args, rest = false }: Command): string | null {
  const named = Object.entries(args).filter((entry) => !isOption(entry));
  const missing = named.slice(words.length).find(([, arg]) => isRequired(arg));
  if (missing !== undefined) return `${missing[1].valueHint ?? missing[0].toUpperCase()} is missing`;
  return !rest && words.length > named.length ? `'${words[named.length]}' is one word too many` : null;
}

type OptionToken = {
  readonly rawName: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
};

function faultOfOption({ rawName, name, value, inlineValue = false }: OptionToken, args: ArgsDef): string | null {
  const arg = rawName.startsWith('--') && Object.hasOwn(args, name) ? args[name] : undefined;
  if (arg === undefined || arg.type === 'positional') {
    const meant = suggest(name, [
      ...Object.entries(args)
        .filter(isOption)
        .map(([known]) => known),
      'help',
    ]);
    return `there is no option '${rawName}'${meant === null ? '' : `; did you mean '--${meant}'?`}`;
  }
  if (arg.type === 'boolean') return value === undefined ? null : `'${rawName}' takes no value`;
  if (value === undefined || (value === '' && arg.valueHint !== 'TEXT')) return `'${rawName}' needs a value`;
  if (!inlineValue && value.startsWith('-') && value !== '-') {
    return `'${rawName}' needs a value; for one that begins with a dash write ${rawName}=${value}`;
  }
  const isUnknown = arg.type === 'enum' && !(arg.options ?? []).includes(value);
  return isUnknown ? `${rawName} '${value}' is none of ${(arg.options ?? []).join(', ')}` : null;
}
