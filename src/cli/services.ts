/** What the command line hands over: it reads options, somebody else runs the service with them. */
import type { Config } from '../config/config.ts';
import type { Io } from '../process-io.ts';

/** Beside what is in `Config`. Undefined: not given. */
export type ServeFlags = {
  /** Start a nats-server as a child. */
  readonly embedded: boolean;
  /** An absolute path: where that server keeps its files. */
  readonly store: string | undefined;
  /** The port of that server; 0: any. */
  readonly port: number | undefined;
  readonly acceptEmptyLog: boolean;
  /** Copies of the stream in a cluster, 1 to 5. */
  readonly replicas: number | undefined;
};
export type DevFlags = Pick<ServeFlags, 'store' | 'port' | 'acceptEmptyLog'> & {
  /** Ends when nobody has needed it for so long; undefined: never. */
  readonly idleExitMs?: number | undefined;
};

/** Each runs until it is to end, and gives the exit code. @throws AppError, which the command line prints */
export type Services = {
  readonly serve: (config: Config, flags: ServeFlags, io: Io) => Promise<number>;
  /** `name`: an id. */
  readonly runner: (config: Config, name: string, io: Io) => Promise<number>;
  readonly dev: (config: Config, flags: DevFlags, io: Io) => Promise<number>;
};
