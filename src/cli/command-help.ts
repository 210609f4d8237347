/** Help of one command. */
import type { Colors } from '../terminal/colors.ts';
import { wrap } from '../terminal/text.ts';
import { type Argument, type Arguments, type Command, isRequired, optionsOf, positionalsOf } from './command.ts';
import { indent, twoColumns } from './help.ts';
import { clientArgs, timeoutArg } from './option-values.ts';

/** `asTyped`: writes our command lines as this user has to type them. */
export type HelpSubject = {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
  readonly asTyped: (text: string) => string;
};

export function formatCommandHelp(
  { name, summary, command, asTyped }: HelpSubject,
  colors: Colors,
  width: number,
): string[] {
  const { args, details = [], examples } = command;
  const words = positionalsOf(args);
  const shared = { ...clientArgs, ...timeoutArg } as Arguments;
  const options = optionsOf(args);
  const section = (title: string, rows: readonly (readonly [string, Argument])[]) =>
    rows.length === 0
      ? []
      : [
          '',
          colors.bold(title),
          ...twoColumns(
            rows.map(describe).map(([term, text]): [string, string] => [term, asTyped(text)]),
            width,
            colors,
          ),
        ];
  const usage = words.map(([word, arg]) => (isRequired(arg) ? spell(word, arg) : `[${spell(word, arg)}]`));
  const rest = command.rest === 'command' ? ['-- COMMAND'] : [];
  return [
    ...wrap(`${name}: ${summary}`, width),
    ...(details.length === 0 ? [] : ['']),
    ...details.flatMap((line) => wrap(asTyped(line), width)),
    '',
    `${colors.bold('Usage')}  ${asTyped(['stopgate', name, ...usage, '[options]', ...rest].join(' '))}`,
    ...section('Arguments', words),
    ...section(
      'Options',
      options.filter(([option, arg]) => shared[option] !== arg),
    ),
    ...section(
      'Connection and output',
      options.filter(([option, arg]) => shared[option] === arg),
    ),
    '',
    colors.bold(examples.length === 1 ? 'Example' : 'Examples'),
    ...examples.map((example) => indent(asTyped(example))),
  ];
}

const spell = (name: string, { valueHint }: Argument): string => valueHint ?? name.toUpperCase();

function describe([name, arg]: readonly [string, Argument]): [string, string] {
  const { description } = arg;
  if (arg.type === 'positional') return [spell(name, arg), description];
  if (arg.type === 'boolean') return [`--${name}`, description];
  if (arg.type === 'enum') return [`--${name} ${spell(name, arg)}`, `${description}: ${arg.options.join(', ')}`];
  return [`--${name} ${spell(name, arg)}`, description];
}
