/** Defines a command: its arguments, its help, and the function that runs it. */
import type { Config } from '../config/config.ts';
import type { Output } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';

/** Reads a value that was typed. @throws AppError input.bad, whose message begins with the value in quotes */
export type Parse<Value> = (text: string) => Value;

type Described = { readonly description: string };
type Valued<Value> = Described & { readonly valueHint: string; readonly parse: Parse<Value> };
type Grouped = {
  /** The heading of the help under which it is listed; default: "Options". */
  readonly group?: string;
};
/** `completions`: the words that a shell offers for it. */
export type Word<Value = unknown> = Valued<Value> & {
  readonly type: 'word';
  readonly required: boolean;
  readonly completions?: readonly string[];
};
/** All remaining words. `isCommand`: they are a command line, best behind "--", because it may have options of its own. */
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
    /** May be repeated, and takes several values at once, separated by commas. */
    | (Valued<Value> & { readonly type: 'list' })
    | (Described & { readonly type: 'choice'; readonly valueHint: string; readonly options: readonly string[] })
  );
type Argument = Word | Words | Option;
/** The arguments by name; words in their order. */
export type Arguments = Readonly<Record<string, Argument>>;

/** The values of a command's arguments: a flag is false where it is not given, and words are empty. */
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
/** A command line of the user's, after "--". */
export const commandLine = (description: string, required = true) =>
  ({ type: 'words', valueHint: 'COMMAND', description, required, isCommand: true }) as const;

export const isOption = (arg: Argument): arg is Option => arg.type !== 'word' && arg.type !== 'words';

// Defines what the command line delegates: it reads the options, and `app/` runs the service with them.

/** The options in addition to `Config`. Undefined: not given. */
export type ServeFlags = {
  /** Start a NATS server as a child process. */
  readonly embedded: boolean;
  /** The absolute path of that server's files. */
  readonly store: string | undefined;
  /** The port of that server; 0: any free one. */
  readonly port: number | undefined;
  readonly acceptEmptyLog: boolean;
  /** Copies of the stream in a cluster, 1 to 5. */
  readonly replicas: number | undefined;
  /** The last version of the rules that it says it knows; undefined: all it does. */
  readonly rulesMax: number | undefined;
};
export type DevFlags = Pick<ServeFlags, 'store' | 'port' | 'acceptEmptyLog'> & {
  /** Exits after being idle for this long; undefined: never. */
  readonly idleExitMs?: number | undefined;
};

/** Each runs until it is asked to end, and gives the exit code. @throws AppError, which the command line prints */
export type Services = {
  readonly serve: (config: Config, flags: ServeFlags, io: Io) => Promise<number>;
  /** `name`: an id. */
  readonly runner: (config: Config, name: string, io: Io) => Promise<number>;
  readonly dev: (config: Config, flags: DevFlags, io: Io) => Promise<number>;
};

export type Context<Given = Flags> = {
  readonly flags: Given;
  readonly io: Io;
  readonly out: Output;
  /** One line for a person, on stderr. It spells our commands as `asTyped` does. */
  readonly note: (line: string) => void;
  /** Writes our command lines in a text as this user has to type them. */
  readonly asTyped: (text: string) => string;
  readonly services: Services;
  readonly commands: CommandTable;
};

export type Command = {
  readonly args: Arguments;
  /** Paragraphs under the summary, each wrapped to the terminal. */
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** Gives the exit code. @throws AppError, which has its own exit code */
  readonly run: (context: Context) => Promise<number>;
};

/** A command's code is loaded when it is used, so that the others start fast. */
export type CommandRow = { readonly summary: string; readonly load: () => Promise<Command> };
export type CommandTable = Readonly<Record<string, CommandRow>>;

/** Ties the flags that `run` gets to the options that are declared. */
export function defineCommand<const Args extends Arguments>(
  command: Omit<Command, 'args' | 'run'> & {
    readonly args: Args;
    readonly run: (context: Context<Flags<Args>>) => Promise<number>;
  },
): Command {
  return command as Command;
}
