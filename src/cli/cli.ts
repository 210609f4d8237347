/** The command line: runs the command and turns every failure into an error message and an exit code. */
import { CommanderError } from 'commander';
import { AppError, errorBody, errorCodes } from '../errors.ts';
import { describeSystemError, syscallVerb } from '../system-error.ts';
import { createOutput } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean, cleanLines } from '../terminal/text.ts';
import type { Context, Services } from './command.ts';
import { commands } from './command-table.ts';
import { clientArgs } from './option-values.ts';
import { createProgram, takesCommandLine } from './program.ts';
import { rewriteCommands } from './program-name.ts';
import { welcome } from './welcome.ts';

/**
 * Runs one command line (without node and script).
 * @returns the exit code: 0 done, 1 the answer is no, 2 bad usage or input, 3 the service cannot be reached.
 * Never exits the process. Rejects only because of a bug.
 */
export async function runCli(argv: readonly string[], io: Io, services: Services): Promise<number> {
  const out = createOutput(io);
  io.stderr.on('error', () => undefined);
  const asTyped = (text: string) => rewriteCommands(text, io.env, commands);
  const note = (line: string) => void io.stderr.write(`${clean(asTyped(line))}\n`);
  try {
    const base = { io, out, note, asTyped, services };
    const words = argv.length === 0 ? await welcome(base) : argv;
    const code = words === null ? 0 : await dispatch(words, base);
    const fault = await out.fault();
    if (fault === null) return code;
    throw new AppError('input.bad', `cannot write to stdout: ${describeSystemError(fault)}`, { cause: fault });
  } catch (cause) {
    const error = asAppError(cause);
    if (error === null) throw cause;
    for (const line of cleanLines(`stopgate: ${error.message}`)) note(line);
    for (const issue of issuesOf(error)) note(`  ${issue}`);
    if (argv.includes('--json')) await out.json(errorBody(rewriteError(error, asTyped)));
    return errorCodes[error.code].exit;
  }
}

/** The parts of a context that do not depend on the command. */
type BaseContext = Pick<Context, 'io' | 'out' | 'note' | 'asTyped' | 'services'>;

async function dispatch(argv: readonly string[], base: BaseContext): Promise<number> {
  const words = arrange(argv);
  let code = 0;
  let help = '';
  const program = createProgram({
    argv: words,
    asTyped: base.asTyped,
    colors: base.out.colors,
    width: Math.min(base.out.width(), 100),
    write: (text) => {
      help += text;
    },
    run: async (command, flags) => {
      code = await command.run({ ...base, flags, commands });
    },
  });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw await toUsageError(error, words);
    await base.out.write(help);
  }
  return code;
}

/** Moves the command to the front (connection options may precede it) and turns `help X` into `X --help`. */
function arrange(argv: readonly string[]): readonly string[] {
  const { name, rest } = findCommand(argv);
  if (name === null) return rest;
  if (name === 'help') return rest[0] === undefined ? ['--help'] : arrange([rest[0], '--help']);
  // Drop the arguments of an unknown command, so that the error is about its name.
  return Object.hasOwn(commands, name) ? [name, ...rest] : [name];
}

/** Finds the first word that is neither an option nor the value of a connection option. */
function findCommand(argv: readonly string[]): { name: string | null; rest: readonly string[] } {
  for (let index = 0; index < argv.length; index += 1) {
    const arg = argv[index] as string;
    if (!arg.startsWith('-')) return { name: arg, rest: argv.toSpliced(index, 1) };
    const option = (clientArgs as Record<string, { type: string }>)[arg.slice(2)];
    if (option?.type === 'option') index += 1;
  }
  return { name: null, rest: argv };
}

/** What other tools call something that we have under another name. */
const otherWords: Readonly<Record<string, string>> = {
  start: '"stopgate up" sets up this folder, "stopgate dev" starts a service',
  install: '"stopgate up" sets up this folder',
  setup: '"stopgate up" sets up this folder',
  stop: '"stopgate down" undoes "stopgate up", Ctrl-C ends "stopgate dev"',
  uninstall: '"stopgate down" undoes "stopgate up", "stopgate init AGENT --remove" removes the hooks of an agent',
  status: '"stopgate doctor" checks the setup, "stopgate workers" lists the agents',
  list: '"stopgate workers" lists the agents',
  ls: '"stopgate workers" lists the agents',
  logs: '"stopgate tail" prints the log',
  config: '"stopgate check" checks a stopgate.yaml',
  validate: '"stopgate check" checks a stopgate.yaml',
  lint: '"stopgate check" checks a stopgate.yaml',
  version: '"stopgate --version" prints the version',
};

/** Converts a parser error into one line that says what is wrong and which help to read. */
async function toUsageError({ code, message }: CommanderError, words: readonly string[]): Promise<AppError> {
  const fault = message
    .replace(/^error: /, '')
    .replace(/\.?$/, '')
    .replaceAll('\n', ' ');
  const name = words[0] ?? '';
  const command = Object.hasOwn(commands, name) ? await commands[name]?.load() : undefined;
  if (command === undefined) {
    const usual = Object.hasOwn(otherWords, name) ? otherWords[name] : undefined;
    const [known, hint] = usual === undefined ? [fault, ''] : [`unknown command '${name}'`, `${usual}, and `];
    return new AppError('input.bad', `${known}; ${hint}"stopgate help" lists all commands`);
  }
  const isBare = code === 'commander.unknownOption' && takesCommandLine(command) && !words.includes('--');
  const hint = isBare ? '; put your command after "--"' : '';
  return new AppError('input.bad', `${fault}${hint} (see "stopgate ${name} --help")`);
}

/** Rewrites the commands in an error as this user has to type them. Programs show `--json` errors to people. */
const rewriteError = ({ code, message, issues, details }: AppError, asTyped: Context['asTyped']): AppError =>
  new AppError(code, asTyped(message), {
    issues: issues.map((issue) => ({ ...issue, message: asTyped(issue.message) })),
    details,
  });

/**
 * Converts an operating-system error, which the user can fix, into an error that prints without a stack.
 * @returns null if `cause` is a bug of ours
 */
function asAppError(cause: unknown): AppError | null {
  if (cause instanceof AppError) return cause;
  const { syscall, code, path } = cause as NodeJS.ErrnoException;
  if (syscall === undefined || code === undefined) return null;
  const what = path === undefined ? '' : ` '${path}'`;
  return new AppError('input.bad', `cannot ${syscallVerb(syscall)}${what}: ${describeSystemError(cause)}`, { cause });
}

/** Returns the issues that the message does not already contain. */
function issuesOf({ message, issues }: AppError): string[] {
  return issues
    .filter((issue) => !message.includes(issue.message))
    .map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`));
}
