/** Defines a command: its arguments, its help, and the function that runs it. */

import type { Output } from '../terminal/output.ts';
import type { Io } from '../terminal/process-io.ts';
import type { Arguments, Flags } from './argument-types.ts';
import type { Services } from './services.ts';

export type Context<Given = Flags> = {
  readonly flags: Given;
  /** All positional arguments in order; those with a name are in `flags` too. */
  readonly words: readonly string[];
  readonly io: Io;
  readonly out: Output;
  /** One line for a person, on stderr. */
  readonly note: (line: string) => void;
  readonly services: Services;
  readonly commands: CommandTable;
};

export type Command = {
  readonly args: Arguments;
  /** Any number of words may follow the named ones; `command`: they are a command line, best behind "--". */
  readonly rest?: boolean | 'command';
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
