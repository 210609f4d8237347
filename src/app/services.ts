/** The services that the command line can start. Their modules load on demand, so that other commands start fast. */
import type { DestinationStream } from 'pino';
import { runCli } from '../cli/cli.ts';
import type { Services } from '../cli/command.ts';
import type { Config } from '../config/config.ts';
import type { Io } from '../terminal/process-io.ts';

/** @param logOf returns the destination of a service's log; default: this process's stderr */
export function createServices(logOf: (io: Io) => DestinationStream | undefined = () => undefined): Services {
  const openLogger = async ({ logLevel }: Config, io: Io) =>
    (await import('../log.ts')).createLogger(logLevel, logOf(io));
  return {
    async dev(config, flags, io) {
      const { serveEmbedded } = await import('./dev.ts');
      return serveEmbedded(config, { ...flags, hints: true, logger: await openLogger(config, io) }, io);
    },
    async runner(config, name, io) {
      const { serveRunner } = await import('./serve-runner.ts');
      return serveRunner({ config, name, io, logger: await openLogger(config, io) });
    },
    async serve(config, flags, io) {
      const logger = await openLogger(config, io);
      const { acceptEmptyLog, replicas: streamReplicas, rulesMax } = flags;
      if (flags.embedded) {
        const { serveEmbedded } = await import('./dev.ts');
        return serveEmbedded(config, { ...flags, hints: false, streamReplicas, logger }, io);
      }
      const { serve } = await import('./serve.ts');
      const { nats, creds } = config;
      return serve({ config, io, nats, creds, logger, acceptEmptyLog, streamReplicas, rulesMax });
    },
  };
}

/** Runs the command line, for the program and for in-process tests. @returns the exit code */
export const runCommandLine = (argv: readonly string[], io: Io): Promise<number> => runCli(argv, io, createServices());
