/** Everything but the command hook: hands the command line what it needs, and exits with its code. */
import { runCli } from '../cli/cli.ts';
import { readEnvironment } from '../config/environment.ts';
import { processIo } from '../process-io.ts';
import { serveEmbedded } from './dev.ts';
import { loggerFor, serve } from './serve.ts';
import { serveRunner } from './serve-runner.ts';

const io = processIo(readEnvironment());
process.exitCode = await runCli(process.argv.slice(2), io, {
  dev: (config, flags, given) => serveEmbedded(config, { ...flags, hints: true, streamReplicas: undefined }, given),
  runner: (config, name, given) => serveRunner({ config, name, io: given, logger: loggerFor(config) }),
  serve: (config, flags, given) =>
    flags.embedded
      ? serveEmbedded(config, { ...flags, hints: false, streamReplicas: flags.replicas }, given)
      : serve({
          ...{ config, io: given, nats: config.nats, creds: config.creds, logger: loggerFor(config) },
          ...{ acceptEmptyLog: flags.acceptEmptyLog, streamReplicas: flags.replicas },
        }),
});
// All that is ours is closed. What a library left open (nats-core 3.4 its socket to a server that never spoke) must not
// keep the process; whoever reads its output is done by then, since pipes are written to at once.
setTimeout(() => process.exit(), 1_000).unref();
