/** Defines a command: its arguments, its help and the function that runs it. */
import type { Config } from '../config/config.ts';
import type { Output } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';

/** Parses an argument. @throws AppError input.bad with a message that begins with the quoted value */
export type Parse<Value> = (text: string) => Value;

type Described = { readonly description: string };
type Valued<Value> = Described & { readonly valueHint: string; readonly parse: Parse<Value> };
type Grouped = {
  /** Help heading for this option. Default: "Options". */
  readonly group?: string;
};
/** A positional argument. `completions`: words that a shell completes. */
export type Word<Value = unknown> = Valued<Value> & {
  readonly type: 'word';
  readonly required: boolean;
  readonly completions?: readonly string[];
};
/**
 * All remaining arguments. With `isCommand` they are a command line of the user's, which follows "--" because it may
 * have its own options.
 */
export type Words = Described & {
  readonly type: 'words';
  readonly valueHint: string;
  readonly required: boolean;
  readonly isCommand: boolean;
};
export type Option<Value = unknown> = Grouped &
  (
    | (Described & { readonly type: 'flag' })
    | (Valued<Value> & { readonly type: 'option' })
    /** May be repeated. Takes comma-separated values. */
    | (Valued<Value> & { readonly type: 'list' })
    | (Described & { readonly type: 'choice'; readonly valueHint: string; readonly options: readonly string[] })
  );
type Argument = Word | Words | Option;
/** Arguments by name. Positional arguments are in their order on the command line. */
export type Arguments = Readonly<Record<string, Argument>>;

/** The values of a command's arguments. A missing flag is false, and missing words are an empty array. */
export type Flags<Args extends Arguments = Arguments> = { readonly [Name in keyof Args]: Flag<Args[Name]> };
type Flag<Arg extends Argument> = Arg extends { type: 'flag' }
  ? boolean
  : Arg extends { type: 'words' }
    ? readonly string[]
    : Arg extends { type: 'word'; required: true; parse: Parse<infer Value> }
      ? Value
      : Arg extends { type: 'choice'; options: readonly (infer Value)[] }
        ? Value | undefined
        : Arg extends { type: 'list'; parse: Parse<infer Value> }
          ? readonly Value[] | undefined
          : Arg extends { parse: Parse<infer Value> }
            ? Value | undefined
            : never;

const verbatim = (text: string): string => text;

export const flag = (description: string) => ({ type: 'flag', description }) as const;
export function option(valueHint: string, description: string): ValueOption<string>;
export function option<Value>(valueHint: string, description: string, parse: Parse<Value>): ValueOption<Value>;
export function option(valueHint: string, description: string, parse: Parse<unknown> = verbatim) {
  return { type: 'option', valueHint, description, parse };
}
type ValueOption<Value> = Extract<Option<Value>, { type: 'option' }>;
export const listOption = <Value>(valueHint: string, description: string, parse: Parse<Value>) =>
  ({ type: 'list', valueHint, description, parse }) as const;
export const choice = <const Value extends string>(valueHint: string, options: readonly Value[], description: string) =>
  ({ type: 'choice', valueHint, options, description }) as const;

export function argument(valueHint: string, description: string): RequiredWord<string>;
export function argument<Value>(valueHint: string, description: string, parse: Parse<Value>): RequiredWord<Value>;
export function argument(valueHint: string, description: string, parse: Parse<unknown> = verbatim) {
  return { type: 'word', required: true, valueHint, description, parse };
}
type RequiredWord<Value> = Word<Value> & { readonly required: true };
export const optionalArgument = (valueHint: string, description: string, completions?: readonly string[]) =>
  ({
    type: 'word',
    required: false,
    valueHint,
    description,
    parse: verbatim,
    ...(completions && { completions }),
  }) as const;
export const words = (valueHint: string, description: string, required = false) =>
  ({ type: 'words', valueHint, description, required, isCommand: false }) as const;
/** Declares a command line of the user's, which follows "--". */
export const commandLine = (description: string, required = true) =>
  ({ type: 'words', valueHint: 'COMMAND', description, required, isCommand: true }) as const;

export const isOption = (arg: Argument): arg is Option => arg.type !== 'word' && arg.type !== 'words';

// The options of the commands that run until they are stopped. `app/` implements them.

/** Options in addition to `Config`. An option that was not given is undefined. */
export type ServeFlags = {
  /** Start a NATS server as a child process. */
  readonly embedded: boolean;
  /** Absolute path of the data folder of that server. */
  readonly store: string | undefined;
  /** Port of that server; 0 for any free port. */
  readonly port: number | undefined;
  readonly acceptEmptyLog: boolean;
  /** Number of stream replicas in a NATS cluster, 1 to 5. */
  readonly replicas: number | undefined;
  /** The newest rules version that this replica announces. Default: the newest it knows. */
  readonly rulesMax: number | undefined;
};
export type DevFlags = Pick<ServeFlags, 'store' | 'port' | 'acceptEmptyLog'> & {
  /** Exit after being idle for this long. Default: never. */
  readonly idleExitMs?: number | undefined;
};

/** Each function runs until it is asked to stop and returns the exit code. @throws AppError */
export type Services = {
  readonly serve: (config: Config, flags: ServeFlags, io: Io) => Promise<number>;
  /** `name` must be an id. */
  readonly runner: (config: Config, name: string, io: Io) => Promise<number>;
  readonly dev: (config: Config, flags: DevFlags, io: Io) => Promise<number>;
};

export type Context<CommandFlags = Flags> = {
  readonly flags: CommandFlags;
  readonly io: Io;
  readonly out: Output;
  /** Prints one line for people on stderr. Rewrites commands like `asTyped`. */
  readonly note: (line: string) => void;
  /** Rewrites the stopgate commands in a text as this user has to type them. */
  readonly asTyped: (text: string) => string;
  readonly services: Services;
  readonly commands: CommandTable;
};

export type Command = {
  readonly args: Arguments;
  /** Paragraphs below the summary, wrapped to the terminal. */
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** @returns the exit code. @throws AppError, which determines the exit code */
  readonly run: (context: Context) => Promise<number>;
};

/** `load` imports the command's module on demand, which keeps the start of all others fast. */
export type CommandRow = { readonly summary: string; readonly load: () => Promise<Command> };
export type CommandTable = Readonly<Record<string, CommandRow>>;

/** Derives the type of `run`'s flags from the declared arguments. */
export function defineCommand<const Args extends Arguments>(
  command: Omit<Command, 'args' | 'run'> & {
    readonly args: Args;
    readonly run: (context: Context<Flags<Args>>) => Promise<number>;
  },
): Command {
  return command as Command;
}
