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

/** @throws AppError input.bad */
export function readArguments(argv: readonly string[], command: Command): { flags: Flags<ArgsDef>; words: string[] } {
  const words = checkArguments(argv, command);
  const parsed = parseArgs([...argv], optional(command.args)) as Record<string, unknown>;
  const flags = Object.entries(command.args).map(([name, { type }]) => {
    const value = parsed[name];
    return [name, type === 'boolean' ? value === true : value];
  });
  return { flags: Object.fromEntries(flags), words };
}

export const isOption = ([, { type }]: [string, ArgDef]): boolean => type !== 'positional';
export const isRequired = (arg: ArgDef): boolean => arg.type === 'positional' && arg.required !== false;

// Missing words are reported here, in our own form.
const optional = (args: ArgsDef): ArgsDef =>
  Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [name, arg.type === 'positional' ? { ...arg, required: false } : arg]),
  );

function checkArguments(argv: readonly string[], { args, rest = false }: Command): string[] {
  const known = Object.entries(args).filter(isOption);
  const options = Object.fromEntries(
    known.map(([name, { type }]) => [name, { type: type === 'boolean' ? ('boolean' as const) : ('string' as const) }]),
  );
  const { tokens } = readTokens({ args: [...argv], options, allowPositionals: true, strict: false, tokens: true });
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind === 'option')
      checkOption(
        token,
        args,
        known.map(([name]) => name),
      );
  }
  const named = Object.entries(args).filter((entry) => !isOption(entry));
  const missing = named.slice(words.length).find(([, arg]) => isRequired(arg));
  if (missing !== undefined) throw bad(`${missing[0].toUpperCase()} is missing`);
  if (!rest && words.length > named.length) throw bad(`'${words[named.length]}' is one word too many`);
  return words;
}

type OptionToken = {
  readonly rawName: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
};

function checkOption({ rawName, name, value, inlineValue = false }: OptionToken, args: ArgsDef, known: string[]): void {
  const arg = rawName.startsWith('--') && Object.hasOwn(args, name) ? args[name] : undefined;
  if (arg === undefined || arg.type === 'positional') {
    const meant = suggest(name, [...known, 'help']);
    throw bad(`there is no option '${rawName}'${meant === null ? '' : `; did you mean '--${meant}'?`}`);
  }
  if (arg.type === 'boolean') {
    if (value !== undefined) throw bad(`'${rawName}' takes no value`);
    return;
  }
  if (value === undefined || value === '') throw bad(`'${rawName}' needs a value`);
  if (!inlineValue && value.startsWith('-') && value !== '-') {
    throw bad(`'${rawName}' needs a value; for one that begins with a dash write ${rawName}=${value}`);
  }
  if (arg.type === 'enum' && !(arg.options ?? []).includes(value)) {
    throw bad(`${rawName} '${value}' is none of ${(arg.options ?? []).join(', ')}`);
  }
}

const bad = (message: string): AppError => new AppError('input.bad', message);
