/**
 * Reads the arguments of a command. Undeclared arguments are refused, because a misspelt option must not be ignored.
 */
import { parseArgs } from 'node:util';
import { AppError } from '../errors.ts';
import { type Arguments, type Flags, isRequired, type Option, optionsOf, positionalsOf } from './command.ts';
import { suggest } from './suggest.ts';

/** `rest`: any number of words may follow the named ones; `command`: they are a command line, best behind "--". */
type Declared = { readonly args: Arguments; readonly rest?: boolean | 'command' | 'optional command' };
/** `words`: all positional arguments, including those with a name in `flags`. */
type Given = { readonly flags: Flags; readonly words: readonly string[] };

/** @throws AppError input.bad, which refers to the help */
export function readArguments(argv: readonly string[], name: string, { args, rest = false }: Declared): Given {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(optionsOf(args).map(toParseOption)),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const options = tokens.filter((token) => token.kind === 'option');
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const faults = options.map((token) => findOptionFault(token, args));
  const fault = faults.find((each) => each !== null) ?? findWordFault(words, args, rest !== false);
  const isBare =
    typeof rest === 'string' && words.length > 0 && tokens.every(({ kind }) => kind !== 'option-terminator');
  const hint = isBare ? '; write your command behind "--"' : '';
  if (fault !== null) throw new AppError('input.bad', `${fault}${hint} (see "stopgate ${name} --help")`);
  const positionals = positionalsOf(args).map(([arg], index) => [arg, words[index]]);
  const values = optionsOf(args).map(([arg, option]) => [
    arg,
    readValue(
      option,
      options.filter((token) => token.name === arg),
    ),
  ]);
  return { flags: Object.fromEntries([...positionals, ...values]), words };
}

const toParseOption = ([name, { type }]: readonly [string, Option]) =>
  [name, { type: type === 'boolean' ? 'boolean' : 'string' }] as const;

/** If an option that takes one value is repeated, the last one counts. */
function readValue({ type, valueHint }: Option, given: readonly OptionToken[]): string | boolean | undefined {
  if (type === 'boolean') return given.length > 0;
  if (valueHint?.endsWith('…')) return given.map(({ value }) => value).join(',') || undefined;
  return given.at(-1)?.value;
}

function findWordFault(words: readonly string[], args: Arguments, rest: boolean): string | null {
  const named = positionalsOf(args);
  const missing = named.slice(words.length).find(([, arg]) => isRequired(arg));
  if (missing !== undefined) return `${missing[1].valueHint ?? missing[0].toUpperCase()} is missing`;
  return !rest && words.length > named.length ? `'${words[named.length]}' is one argument too many` : null;
}

type OptionToken = {
  readonly rawName: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
};

function findOptionFault({ rawName, name, value, inlineValue = false }: OptionToken, args: Arguments): string | null {
  if (rawName === '--help') return "'--help' takes no value";
  const arg = rawName.startsWith('--') && Object.hasOwn(args, name) ? args[name] : undefined;
  if (arg === undefined || arg.type === 'positional') {
    const known = optionsOf(args);
    const meant = suggest(name, [...known.map(([option]) => option), 'help']);
    return `there is no option '${rawName}'${meant === null ? '' : `; did you mean '--${meant}'?`}`;
  }
  if (arg.type === 'boolean') return value === undefined ? null : `'${rawName}' takes no value`;
  if (value === undefined || (value === '' && arg.valueHint !== 'TEXT')) return `'${rawName}' needs a value`;
  if (!inlineValue && value.startsWith('-') && value !== '-') {
    return `'${rawName}' needs a value; write ${rawName}=${value} for one that starts with a dash`;
  }
  if (arg.type !== 'enum' || arg.options.includes(value)) return null;
  return `${rawName} '${value}' is none of ${arg.options.join(', ')}`;
}
