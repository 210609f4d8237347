#!/usr/bin/env node
/** The process: hands the command line what it needs, and exits with its code. */
import { runCli } from './cli/cli.ts';
import { processIo } from './cli/io.ts';
import { readEnvironment } from './config.ts';
import { serveEmbedded } from './dev.ts';
import { loggerFor, serve } from './serve.ts';

const io = processIo(readEnvironment());
process.exitCode = await runCli(process.argv.slice(2), io, {
  dev: (config, flags, given) => serveEmbedded(config, { ...flags, hints: true, streamReplicas: undefined }, given),
  serve: (config, flags, given) =>
    flags.embedded
      ? serveEmbedded(config, { ...flags, hints: false, streamReplicas: flags.replicas }, given)
      : serve({
          ...{ config, io: given, nats: config.nats, creds: config.creds, logger: loggerFor(config) },
          ...{ acceptEmptyLog: flags.acceptEmptyLog, streamReplicas: flags.replicas },
        }),
});
