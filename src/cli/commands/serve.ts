/** serve: the service on an existing NATS. */
import { loadConfig } from '../../config/config.ts';
import { AppError } from '../../errors.ts';
import { defineCommand } from '../command.ts';
import { readCount } from '../option-values.ts';
import { natsServerArgs, readNatsServer, serveArgs } from '../server-args.ts';

export const serve = defineCommand({
  args: {
    nats: {
      type: 'string',
      valueHint: 'URL',
      description: 'the NATS servers to join, separated by commas (STOPGATE_NATS; default: nats://127.0.0.1:4222)',
    },
    creds: { type: 'string', valueHint: 'FILE', description: 'credentials of role service (STOPGATE_CREDS)' },
    ...serveArgs,
    replica: {
      type: 'string',
      valueHint: 'NAME',
      description: 'the name of this copy (STOPGATE_REPLICA; default: made up)',
    },
    replicas: {
      type: 'string',
      valueHint: 'N',
      description: 'copies of the log in a NATS cluster, 1 to 5 (default: 1)',
    },
    embedded: { type: 'boolean', description: 'start a nats-server as a child, instead of --nats' },
    port: { ...natsServerArgs.port, description: `with --embedded: ${natsServerArgs.port.description}` },
    store: { ...natsServerArgs.store, description: `with --embedded: ${natsServerArgs.store.description}` },
  },
  details: [
    'Serves one fleet on a NATS server with JetStream (2.9 or later), and runs until Ctrl-C or SIGTERM.',
    'Any number of copies may run on the same NATS: they share the requests, and losing one loses nothing.',
    'When it is ready it prints one JSON line with its addresses; its log goes to stderr.',
  ],
  examples: [
    'stopgate serve --nats nats://127.0.0.1:4222',
    'stopgate serve --embedded --http off --config stopgate.yaml',
  ],
  run: async ({ flags, io, services }) => {
    const { nats, creds, http, fleet, config, token, replica, embedded, 'log-level': logLevel } = flags;
    if (embedded && nats !== undefined)
      throw new AppError('input.bad', '--embedded starts a NATS server, --nats names one; give one of them');
    if (!embedded && (flags.port ?? flags.store) !== undefined) {
      throw new AppError('input.bad', '--port and --store are for the server that --embedded starts');
    }
    const replicas = flags.replicas === undefined ? undefined : readCount('--replicas', flags.replicas, 1, 5);
    const server = readNatsServer(flags, io.cwd);
    const given = { nats, creds, http, fleet, config, token, replica, logLevel };
    return services.serve(
      await loadConfig({ flags: given, cwd: io.cwd, env: io.env, serving: true }),
      { ...server, embedded, replicas },
      io,
    );
  },
});
