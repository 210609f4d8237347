/** Builds commander's program from the command definitions. It parses, validates, suggests and prints help. */
import { join } from 'node:path';
import { Argument, Help, Command as Parser, Option as ParserOption } from 'commander';
import { AppError } from '../errors.ts';
import { type Colors, wrap } from '../terminal/text.ts';
import { version } from '../version.ts';
import { type Arguments, type Command, type Flags, isOption, type Option, type Word, type Words } from './command.ts';
import { commandGroups, commands } from './command-table.ts';

type ProgramOptions = {
  /** The words to parse, with the command first. */
  readonly argv: readonly string[];
  /** Rewrites the commands in a text as this user has to type them. */
  readonly asTyped: (text: string) => string;
  readonly colors: Colors;
  /** Width of the help, in columns. */
  readonly width: number;
  /** Receives the help text. */
  readonly write: (text: string) => void;
  readonly run: (command: Command, flags: Flags) => Promise<void>;
};

/** Loads the definition of the called command before its arguments are parsed. */
export function createProgram(options: ProgramOptions): Parser {
  const { argv, width, write } = options;
  const program = new Parser('stopgate')
    .usage('<command> [options]')
    .description(
      'stopgate decides whether a coding agent may stop: agents report what they do, policies define what must be true.',
    )
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: write,
      outputError: () => undefined, // the thrown error has the text
      getOutHelpWidth: () => width,
      getOutHasColors: () => true, // `colors` already knows whether to paint
    })
    .configureHelp(helpOf(options))
    .addHelpText('after', () => `\n${footer(options).join('\n')}`)
    .hook('preSubcommand', async (_program, parser) => {
      const command = await commands[parser.name()]?.load();
      if (command !== undefined) define(parser, command, options);
    });
  // Help and suggestions need all commands. Registering only the called one starts 4 ms earlier.
  const called = Object.hasOwn(commands, argv[0] ?? '') ? argv[0] : undefined;
  for (const [group, rows] of Object.entries(commandGroups)) {
    program.commandsGroup(`${group}:`);
    for (const [name, { summary }] of Object.entries(rows))
      if (called === undefined || name === called) program.command(name).summary(summary);
  }
  return program.helpCommand('help [command]', 'show the help of a command');
}

const commandLineOf = ({ args }: Command): Words | undefined =>
  Object.values(args).find((arg): arg is Words => arg.type === 'words' && arg.isCommand);

/** Whether a command line of the user's follows "--". */
export const takesCommandLine = (command: Command): boolean => commandLineOf(command) !== undefined;

function define(parser: Parser, command: Command, { argv, asTyped, colors, run }: ProgramOptions): void {
  const { args, details = [], examples } = command;
  const title = colors.bold(examples.length === 1 ? 'Example:' : 'Examples:');
  parser
    .description([`${parser.name()}: ${parser.summary()}`, '', ...details].join('\n'))
    .addHelpText('after', () => ['', title, ...examples.map((example) => `  ${asTyped(example)}`)].join('\n'));
  for (const arg of Object.values(args)) if (!isOption(arg)) parser.addArgument(toArgument(arg));
  const options = new Map<string, ParserOption>();
  for (const [name, arg] of Object.entries(args)) if (isOption(arg)) options.set(name, toOption(name, arg, argv));
  for (const option of options.values()) parser.addOption(option);
  const line = commandLineOf(command);
  if (line !== undefined) {
    const words = parser.registeredArguments.slice(0, -1).map((word) => `[${word.name()}] `);
    parser.usage(`[options] ${words.join('')}${line.required ? '-- COMMAND…' : '[-- COMMAND…]'}`);
  }
  parser.action(() => run(command, readFlags(parser, args, options)));
}

function toArgument(word: Word | Words): Argument {
  const name = word.type === 'words' ? `${word.valueHint}...` : word.valueHint;
  // A command that takes a command line reports a missing one with its own hint.
  const isRequired = word.required && !(word.type === 'words' && word.isCommand);
  const argument = new Argument(isRequired ? `<${name}>` : `[${name}]`, word.description);
  return word.type === 'words' ? argument : argument.argParser(word.parse);
}

function toOption(name: string, option: Option, argv: readonly string[]): ParserOption {
  const flags = option.type === 'flag' ? `--${name}` : `--${name} <${option.valueHint}>`;
  const parsed = new ParserOption(flags, option.description);
  if (option.group !== undefined) parsed.helpGroup(option.group);
  if (option.type === 'flag') return parsed;
  if (option.type === 'choice') return parsed.choices(option.options);
  const { type, valueHint, parse } = option;
  return parsed.argParser((text, before: unknown): unknown => {
    const isEmpty = text === '' && valueHint !== 'TEXT';
    // Commander takes any next word as the value. A word with a dash is probably an option, and the value was
    // forgotten.
    const isForgotten = text.startsWith('-') && text !== '-' && !argv.includes(`--${name}=${text}`);
    if (isEmpty) throw new AppError('input.bad', `--${name} needs a value`);
    if (isForgotten)
      throw new AppError(
        'input.bad',
        `--${name} needs a value; if the value starts with a dash, write --${name}=${text}`,
      );
    try {
      return type === 'list' ? [...((before ?? []) as unknown[]), ...text.split(',').map(parse)] : parse(text);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, `--${name} ${error.message}`, { cause: error });
    }
  });
}

function readFlags(parser: Parser, args: Arguments, options: ReadonlyMap<string, ParserOption>): Flags {
  const words = parser.processedArgs.values();
  return Object.fromEntries(
    Object.entries(args).map(([name, arg]) => {
      const option = options.get(name);
      if (option === undefined) return [name, words.next().value];
      const key = option.attributeName();
      return [name, arg.type === 'flag' ? parser.getOptionValueSource(key) === 'cli' : parser.getOptionValue(key)];
    }),
  );
}

function helpOf({ asTyped, colors }: ProgramOptions): Partial<Help> {
  const standard = new Help();
  return {
    minWidthToWrap: 24,
    subcommandTerm: (command) => command.name(),
    commandUsage: (command) => asTyped(standard.commandUsage(command)),
    commandDescription: (command) => asTyped(standard.commandDescription(command)),
    argumentDescription: (argument) => asTyped(standard.argumentDescription(argument)),
    optionDescription: (option) => asTyped(standard.optionDescription(option)),
    styleTitle: colors.bold,
    styleUsage: (usage) => usage,
    styleOptionText: colors.cyan,
    styleArgumentText: colors.cyan,
    styleSubcommandText: colors.cyan,
  };
}

function footer({ asTyped, colors, width }: ProgramOptions): string[] {
  const indented = (text: string) => wrap(text, width - 2).map((line) => `  ${line}`);
  return [
    colors.bold('Try it:'),
    `  ${asTyped('stopgate dev').padEnd(50)}# leave it running; in a second terminal:`,
    `  ${asTyped(`stopgate publish worker w1 tool.used '{"tool":"Bash"}'`)}`,
    `  ${asTyped('stopgate decide w1')}`,
    '',
    colors.bold('All commands:'),
    ...indented(
      'Precedence of options: flags, STOPGATE_* variables, stopgate.yaml, the "dev" that runs in this folder, the context of "stopgate context use". --context and STOPGATE_CONTEXT come before stopgate.yaml. NO_COLOR=1 disables colors.',
    ),
    ...indented(
      'Exit codes: 0 done, 1 the answer is no, 2 bad usage or input, 3 the service cannot be reached, 130 interrupted by Ctrl-C (loop, acp, resumable --run).',
    ),
    '',
    asTyped('"stopgate <command> --help" explains a command; "stopgate --version" prints the version.'),
    `Documentation: ${join(import.meta.dirname, '../../../README.md')}`, // the same depth in the package
  ];
}
