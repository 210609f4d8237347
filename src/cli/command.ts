/** Defines a command: its arguments, its help, and the function that runs it. */
import type { Config } from '../config/config.ts';
import type { Output } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';

/** A command declares its arguments so; `run` gets their values. */

type Described = { readonly description: string; readonly valueHint?: string };
/** `completions`: the words that a shell offers for it. */
type Positional = Described & {
  readonly type: 'positional';
  readonly required?: boolean;
  readonly completions?: readonly string[];
};
export type Option = Described &
  (
    | { readonly type: 'boolean' }
    /** A string. If its hint ends in `…`, it may be repeated, and the value is all of them, joined by commas. */
    | { readonly type: 'string' }
    /** `fallback`: what holds without it, as the help says it. */
    | { readonly type: 'enum'; readonly options: readonly string[]; readonly fallback?: string | undefined }
  );
export type Argument = Positional | Option;
/** The arguments by name; positionals in their order. */
export type Arguments = Readonly<Record<string, Argument>>;

/** The values of a command's arguments: a boolean is false where it is not given. */
export type Flags<Args extends Arguments = Arguments> = { readonly [Name in keyof Args]: Flag<Args[Name]> };
type Flag<Arg extends Argument> = Arg extends { type: 'boolean' }
  ? boolean
  : Arg extends { type: 'positional'; required: false }
    ? string | undefined
    : Arg extends { type: 'positional' }
      ? string
      : Arg extends { type: 'enum'; options: readonly (infer Value)[] }
        ? Value | undefined
        : string | undefined;

export const flag = (description: string) => ({ type: 'boolean', description }) as const;
export const option = (valueHint: string, description: string) => ({ type: 'string', valueHint, description }) as const;
export const choice = <const Value extends string>(
  valueHint: string,
  options: readonly Value[],
  description: string,
  fallback?: string,
) => ({ type: 'enum', valueHint, options, description, fallback }) as const;
export const argument = (valueHint: string, description: string) =>
  ({ type: 'positional', valueHint, description }) as const;
export const optionalArgument = (valueHint: string, description: string) =>
  ({ type: 'positional', required: false, valueHint, description }) as const;

export const optionsOf = (args: Arguments): (readonly [string, Option])[] =>
  Object.entries(args).filter((entry): entry is [string, Option] => entry[1].type !== 'positional');
export const positionalsOf = (args: Arguments): (readonly [string, Positional])[] =>
  Object.entries(args).filter((entry): entry is [string, Positional] => entry[1].type === 'positional');
export const isRequired = ({ required = true }: Positional): boolean => required;

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
  /** All positional arguments in order; those with a name are in `flags` too. */
  readonly words: readonly string[];
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
  /** Any number of words may follow the named ones; `command`: they are a command line, best behind "--". */
  readonly rest?: boolean | 'command' | 'optional command';
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
