/** Help, from the same table and options that the parser reads. */

import type { Colors } from '../terminal/colors.ts';
import { pad, widthOf, wrap } from '../terminal/text.ts';
import { type Argument, type Arguments, isRequired, optionsOf, positionalsOf } from './argument-types.ts';
import { clientArgs, timeoutArg } from './client-args.ts';
import type { Command } from './command.ts';
import { commands, groups } from './command-table.ts';

/** `width`: columns to fit into. */
export function formatHelp(colors: Colors, width: number): string[] {
  const names = Object.entries(commands);
  const lists = groups.flatMap((group) => [
    '',
    colors.bold(group),
    ...twoColumns(
      names.filter(([, row]) => row.group === group).map(([name, { summary }]) => [name, summary]),
      width,
      colors,
    ),
  ]);
  return [
    ...wrap(
      'stopgate decides whether a coding agent may stop: agents say what they do, policies say what must hold.',
      width,
    ),
    '',
    `${colors.bold('Usage')}  stopgate <command> [options]`,
    '',
    colors.bold('Try it'),
    '  stopgate dev                                      # leave it running; in a second terminal:',
    `  stopgate publish worker w1 tool.used '{"tool":"Bash"}'`,
    '  stopgate decide w1',
    ...lists,
    '',
    colors.bold('Everywhere'),
    ...wrap(
      'Options come from flags, then STOPGATE_* variables, then stopgate.yaml. Colours: off with NO_COLOR=1.',
      width - 2,
    ).map(indent),
    ...wrap(
      'Exit codes: 0 done, 1 the answer is no, 2 bad usage or input, 3 the service cannot be reached.',
      width - 2,
    ).map(indent),
    '',
    '"stopgate <command> --help" explains one of them; "stopgate --version" says which this is.',
  ];
}

export function formatCommandHelp(
  name: string,
  summary: string,
  command: Command,
  colors: Colors,
  width: number,
): string[] {
  const { args, details = [], examples } = command;
  const words = positionalsOf(args);
  const shared = { ...clientArgs, ...timeoutArg } as Arguments;
  const options = optionsOf(args);
  const section = (title: string, rows: readonly (readonly [string, Argument])[]) =>
    rows.length === 0 ? [] : ['', colors.bold(title), ...twoColumns(rows.map(describe), width, colors)];
  const usage = words.map(([word, arg]) => (isRequired(arg) ? spell(word, arg) : `[${spell(word, arg)}]`));
  return [
    ...wrap(`${name}: ${summary}`, width),
    ...(details.length === 0 ? [] : ['']),
    ...details.flatMap((line) => wrap(line, width)),
    '',
    `${colors.bold('Usage')}  ${['stopgate', name, ...usage, '[options]'].join(' ')}`,
    ...section('Arguments', words),
    ...section(
      'Options',
      options.filter(([option, arg]) => shared[option] !== arg),
    ),
    ...section(
      'Where, and how it prints',
      options.filter(([option, arg]) => shared[option] === arg),
    ),
    '',
    colors.bold(examples.length === 1 ? 'Example' : 'Examples'),
    ...examples.map(indent),
  ];
}

const indent = (line: string): string => `  ${line}`;
const spell = (name: string, { valueHint }: Argument): string => valueHint ?? name.toUpperCase();

function describe([name, arg]: readonly [string, Argument]): [string, string] {
  const { description } = arg;
  if (arg.type === 'positional') return [spell(name, arg), description];
  if (arg.type === 'boolean') return [`--${name}`, description];
  if (arg.type === 'enum') return [`--${name} ${spell(name, arg)}`, `${description}: ${arg.options.join(', ')}`];
  return [`--${name} ${spell(name, arg)}`, description];
}

function twoColumns(rows: readonly [string, string][], width: number, colors: Colors): string[] {
  const left = Math.max(...rows.map(([term]) => widthOf(term)));
  return rows.flatMap(([term, text]) =>
    wrap(text, Math.max(24, width - left - 4)).map((line, index) =>
      index === 0 ? `  ${colors.cyan(pad(term, left))}  ${line}` : `  ${' '.repeat(left)}  ${line}`,
    ),
  );
}
