/** Help: of all commands, from the table that the command line itself reads, and of one. */
import { join } from 'node:path';
import { type Colors, pad, widthOf, wrap } from '../terminal/text.ts';
import { type Argument, type Arguments, type Command, isRequired, optionsOf, positionalsOf } from './command.ts';
import { commandGroups } from './command-table.ts';
import { clientArgs, timeoutArg } from './option-values.ts';

/** `asTyped`: writes our command lines as this user has to type them. `width`: columns to fit into. */
export function formatHelp(asTyped: (text: string) => string, colors: Colors, width: number): string[] {
  const lists = Object.entries(commandGroups).flatMap(([group, commands]) => [
    '',
    colors.bold(group),
    ...twoColumns(
      Object.entries(commands).map(([name, { summary }]) => [name, summary]),
      width,
      colors,
    ),
  ]);
  return [
    ...wrap(
      'stopgate decides whether a coding agent may stop: agents report what they do, policies define what must be true.',
      width,
    ),
    '',
    `${colors.bold('Usage')}  ${asTyped('stopgate <command> [options]')}`,
    '',
    colors.bold('Try it'),
    indent(`${asTyped('stopgate dev').padEnd(50)}# leave it running; in a second terminal:`),
    indent(asTyped(`stopgate publish worker w1 tool.used '{"tool":"Bash"}'`)),
    indent(asTyped('stopgate decide w1')),
    ...lists,
    '',
    colors.bold('Everywhere'),
    ...wrap(
      'Options come from flags, then STOPGATE_* variables, then stopgate.yaml, then the "dev" that runs in this folder. NO_COLOR=1 turns colours off.',
      width - 2,
    ).map(indent),
    ...wrap(
      'Exit codes: 0 done, 1 the answer is no, 2 bad usage or input, 3 the service cannot be reached, 130 Ctrl-C ended what had not done its work (loop, acp, resumable --run).',
      width - 2,
    ).map(indent),
    '',
    asTyped('"stopgate <command> --help" explains a command; "stopgate --version" prints the version.'),
    `The documentation: ${join(import.meta.dirname, '../../../README.md')}`, // as deep in a package
  ];
}

const indent = (line: string): string => `  ${line}`;

/** Terms on the left; what each means is broken at the width. */
function twoColumns(rows: readonly [string, string][], width: number, colors: Colors): string[] {
  const left = Math.max(...rows.map(([term]) => widthOf(term)));
  return rows.flatMap(([term, text]) =>
    wrap(text, Math.max(24, width - left - 4)).map((line, index) =>
      index === 0 ? `  ${colors.cyan(pad(term, left))}  ${line}` : `  ${' '.repeat(left)}  ${line}`,
    ),
  );
}

/** `asTyped`: writes our command lines as this user has to type them. */
type HelpSubject = {
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
  const rest = typeof command.rest !== 'string' ? [] : [command.rest === 'command' ? '-- COMMAND…' : '[-- COMMAND…]'];
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
  if (arg.type === 'enum') {
    const fallback = arg.fallback === undefined ? '' : ` (default: ${arg.fallback})`;
    return [`--${name} ${spell(name, arg)}`, `${description}: ${arg.options.join(', ')}${fallback}`];
  }
  return [`--${name} ${spell(name, arg)}`, description];
}
