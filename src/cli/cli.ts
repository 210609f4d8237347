/** The command line: finds the command, reads its options, and turns every failure into one line and an exit code. */
import { AppError, errorBody, errorCodes } from '../errors.ts';
import { describeSystemError, syscallVerb } from '../system-error.ts';
import { createOutput } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';
import { clean, cleanLines } from '../terminal/text.ts';
import type { CommandRow, Context, Services } from './command.ts';
import { commands } from './command-table.ts';
import { clientArgs } from './option-values.ts';
import { spellCommands } from './program-name.ts';

/**
 * Runs one command line (without node and script) and gives the process's exit code: 0 done, 1 the answer is no,
 * 2 bad usage or input, 3 the service cannot be reached. Never exits; rejects only because of a bug.
 */
export async function runCli(argv: readonly string[], io: Io, services: Services): Promise<number> {
  const out = createOutput(io);
  io.stderr.on('error', () => undefined);
  const asTyped = (text: string) => spellCommands(text, io.env, commands);
  const note = (line: string) => void io.stderr.write(`${clean(asTyped(line))}\n`);
  try {
    const code = await dispatch(argv, { io, out, note, asTyped, services });
    const fault = await out.fault();
    if (fault === null) return code;
    throw new AppError('input.bad', `cannot write to stdout: ${describeSystemError(fault)}`, { cause: fault });
  } catch (cause) {
    const error = asAppError(cause);
    if (error === null) throw cause;
    for (const line of cleanLines(`stopgate: ${error.message}`)) note(line);
    for (const issue of issuesOf(error)) note(`  ${issue}`);
    if (argv.includes('--json')) await out.json(errorBody(respell(error, asTyped)));
    return errorCodes[error.code].exit;
  }
}

type Surroundings = Pick<Context, 'io' | 'out' | 'note' | 'asTyped' | 'services'>;

async function dispatch(argv: readonly string[], around: Surroundings): Promise<number> {
  const { name, rest } = findCommand(argv);
  const wantsHelp = rest.slice(0, endOfOptions(rest)).some((arg) => arg === '--help' || arg === '-h');
  if (name === null) {
    if (rest.length === 0 || wantsHelp) return printHelp(around, undefined);
    if (rest[0] === '--version' || rest[0] === '-v') {
      const { version } = await import('../version.ts');
      await around.out.print(version());
      return 0;
    }
    const { suggest } = await import('./suggest.ts');
    const meant = suggest(rest[0] ?? '', ['--help', '--version']);
    const guess = meant === null ? '"stopgate help" lists the commands' : `did you mean '${meant}'?`;
    throw new AppError('input.bad', `there is no option '${rest[0]}' without a command; ${guess}`);
  }
  if (name === 'help') return printHelp(around, rest[0]);
  const row = await rowOf(name);
  if (wantsHelp) return printHelp(around, name);
  const [{ readArguments }, command] = await Promise.all([import('./arguments.ts'), row.load()]);
  const { flags, words } = readArguments(rest, name, command);
  return command.run({ ...around, flags, words, commands });
}

/** The first word that is neither an option nor the value of an option that may stand before a command. */
function findCommand(argv: readonly string[]): { name: string | null; rest: readonly string[] } {
  for (let at = 0; at < argv.length; at += 1) {
    const arg = argv[at] as string;
    if (!arg.startsWith('-')) return { name: arg, rest: argv.toSpliced(at, 1) };
    const option = (clientArgs as Record<string, { type: string }>)[arg.slice(2)];
    if (option?.type === 'string') at += 1;
  }
  return { name: null, rest: argv };
}

const endOfOptions = (argv: readonly string[]): number => (argv.includes('--') ? argv.indexOf('--') : argv.length);

async function rowOf(name: string): Promise<CommandRow> {
  const row = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (row !== undefined) return row;
  const { suggest } = await import('./suggest.ts');
  const meant = suggest(name, [...Object.keys(commands), 'help']);
  const guess = meant === null ? ';' : `; did you mean '${meant}'?`;
  throw new AppError('input.bad', `there is no command '${name}'${guess} "stopgate help" lists them`);
}

/** Spells the commands in an error, for programs that show it to a person. */
const respell = ({ code, message, issues, details }: AppError, spell: (text: string) => string): AppError =>
  new AppError(code, spell(message), {
    issues: issues.map((issue) => ({ ...issue, message: spell(issue.message) })),
    details,
  });

async function printHelp({ out, asTyped }: Surroundings, name: string | undefined): Promise<number> {
  const columns = Math.min(out.width(), 100);
  const row = name === undefined ? undefined : await rowOf(name);
  const [{ formatHelp, formatCommandHelp }, command] = await Promise.all([import('./help.ts'), row?.load()]);
  const lines =
    name === undefined || row === undefined || command === undefined
      ? formatHelp(asTyped, out.colors, columns)
      : formatCommandHelp({ name, summary: row.summary, command, asTyped }, out.colors, columns);
  await out.print(...lines);
  return 0;
}

/**
 * Turns a refusal of the operating system into an error with a line and no stack, because the user can mend it. Null: a
 * bug of ours.
 */
function asAppError(cause: unknown): AppError | null {
  if (cause instanceof AppError) return cause;
  const { syscall, code, path } = cause as NodeJS.ErrnoException;
  if (syscall === undefined || code === undefined) return null;
  const what = path === undefined ? '' : ` '${path}'`;
  return new AppError('input.bad', `cannot ${syscallVerb(syscall)}${what}: ${describeSystemError(cause)}`, { cause });
}

/** Returns the issues that the message does not contain already. */
function issuesOf({ message, issues }: AppError): string[] {
  return issues
    .filter((issue) => !message.includes(issue.message))
    .map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`));
}
