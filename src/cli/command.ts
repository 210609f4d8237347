/** What a command is: the options it takes, what its help says, and the function that does it. */
import type { ArgsDef } from 'citty';
import type { Io } from '../process-io.ts';
import type { Flags } from './arguments.ts';
import type { Output } from './output.ts';
import type { Services } from './services.ts';

export type Context<Given = Flags<ArgsDef>> = {
  readonly flags: Given;
  /** What stands beside options, in order; those with a name of their own are in `flags` too. */
  readonly words: readonly string[];
  readonly io: Io;
  readonly out: Output;
  /** One line for a person, on stderr. */
  readonly note: (line: string) => void;
  readonly services: Services;
  readonly commands: CommandTable;
};

export type Command = {
  readonly args: ArgsDef;
  /** Any number of words may follow the named ones. */
  readonly rest?: boolean;
  /** Paragraphs under the summary; a line each. */
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** Gives the exit code. @throws AppError, whose exit code it is then */
  readonly run: (context: Context) => Promise<number>;
};

/** A command's code is loaded when it is asked for, so that help stays quick. */
export type CommandRow = { readonly group: string; readonly summary: string; readonly load: () => Promise<Command> };
export type CommandTable = Readonly<Record<string, CommandRow>>;

/** Ties the flags that `run` gets to the options that are declared. */
export function defineCommand<const Args extends ArgsDef>(
  command: Omit<Command, 'args' | 'run'> & {
    readonly args: Args;
    readonly run: (context: Context<Flags<Args>>) => Promise<number>;
  },
): Command {
  return command as Command;
}

/** Options of whatever talks to a service. */
export const serviceArgs = {
  nats: {
    type: 'string',
    valueHint: 'URL',
    description:
      'the NATS server (STOPGATE_NATS; default: that of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
  },
  creds: {
    type: 'string',
    valueHint: 'FILE',
    description: 'credentials for it (STOPGATE_CREDS); for "stopgate dev" they are found',
  },
  fleet: { type: 'string', valueHint: 'F', description: 'whose workers and tasks (STOPGATE_FLEET; default: main)' },
  config: {
    type: 'string',
    valueHint: 'FILE',
    description: 'where options may stand too (default: stopgate.yaml, where there is one)',
  },
  json: { type: 'boolean', description: 'print JSON, for programs' },
} as const satisfies ArgsDef;

export const timeoutArg = {
  timeout: {
    type: 'string',
    valueHint: 'MS',
    description: 'how long to wait for an answer: 500, 5s, 10m (default: 5s)',
  },
} as const satisfies ArgsDef;

export const entriesArg = {
  entries: { type: 'string', valueHint: 'N', description: 'how long a timeline: the newest N entries (default: 20)' },
} as const satisfies ArgsDef;
