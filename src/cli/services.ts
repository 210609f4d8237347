/** Defines what the command line delegates: it reads the options, and `app/` runs the service with them. */
import type { Config } from '../config/config.ts';
import type { Io } from '../terminal/process-io.ts';

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

/** Each runs until it is told to end, and gives the exit code. @throws AppError, which the command line prints */
export type Services = {
  readonly serve: (config: Config, flags: ServeFlags, io: Io) => Promise<number>;
  /** `name`: an id. */
  readonly runner: (config: Config, name: string, io: Io) => Promise<number>;
  readonly dev: (config: Config, flags: DevFlags, io: Io) => Promise<number>;
};
