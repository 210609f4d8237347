/** serve: the service on an existing NATS server. */
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { defineCommand, flag, option } from '../../command.ts';
import { readCount } from '../../option-values.ts';
import { natsServerArgs, readNatsServer, readServeOptions, serveArgs } from './server-args.ts';

export const serve = defineCommand({
  args: {
    nats: option('URL', 'the NATS servers, separated by commas (STOPGATE_NATS; default: nats://127.0.0.1:4222)'),
    creds: option('FILE', 'credentials of the role service (STOPGATE_CREDS)'),
    ...serveArgs,
    fleet: option('F…', 'the fleet to serve; may be repeated (STOPGATE_FLEET; default: main)'),
    fleets: option(
      'PATTERN…',
      "all fleets that have a log, now or later, and match, such as 'team-*' (STOPGATE_FLEETS)",
    ),
    shard: option(
      'K/N',
      'only the fleets of shard K, from 1, of N; start it several times for replicas (STOPGATE_SHARD)',
    ),
    replica: option('NAME', 'the name of this replica (STOPGATE_REPLICA; default: generated)'),
    replicas: option(
      'N',
      'how many copies of a new log a NATS cluster keeps, 1 to 5 (default: 3, or 1 without three nodes)',
    ),
    rules: option(
      'N',
      'do not use later versions of the rules; otherwise a fleet uses a version once every replica knows it',
    ),
    embedded: flag('start a NATS server as a child process, instead of --nats'),
    port: { ...natsServerArgs.port, description: `with --embedded: ${natsServerArgs.port.description}` },
    store: { ...natsServerArgs.store, description: `with --embedded: ${natsServerArgs.store.description}` },
  },
  details: [
    'Serves fleets on a NATS server with JetStream (2.9 or later). Runs until Ctrl-C or SIGTERM.',
    'Any number of replicas may run on the same NATS server. They share the requests, and losing one loses nothing.',
    'Once ready it prints one line of JSON with its addresses. Its log goes to stderr.',
  ],
  examples: [
    'stopgate serve --nats nats://127.0.0.1:4222',
    "stopgate serve --fleet main --fleets 'team-*' --shard 2/8",
    'stopgate serve --embedded --http off --config stopgate.yaml',
  ],
  run: async ({ flags, io, services }) => {
    const { nats, creds, replica, shard, embedded } = flags;
    if (embedded && nats !== undefined)
      throw new AppError('input.bad', '--embedded starts a NATS server, --nats names one: give one of them');
    if (!embedded && (flags.port ?? flags.store) !== undefined) {
      throw new AppError('input.bad', '--port and --store are for the server that --embedded starts');
    }
    const replicas = flags.replicas === undefined ? undefined : readCount('--replicas', flags.replicas, 1, 5);
    const rulesMax = flags.rules === undefined ? undefined : await readRules(flags.rules);
    const server = readNatsServer(flags, io.cwd);
    const given = { ...readServeOptions(flags), nats, creds, ...readFleets(flags), shard, replica };
    return services.serve(
      await loadConfig({ flags: given, cwd: io.cwd, env: io.env, serving: true }),
      { ...server, embedded, replicas, rulesMax },
      io,
    );
  },
});

/** The machines are loaded for this alone. */
async function readRules(text: string): Promise<number> {
  const { releasedRules, rulesRange } = await import('../../../../machines/rules/rules.ts');
  return readCount('--rules', text, ...rulesRange(releasedRules));
}

/** The first `--fleet` is that of requests over HTTP which name none. */
function readFleets({
  fleet: given,
  fleets,
}: {
  readonly fleet: string | undefined;
  readonly fleets: string | undefined;
}) {
  const names = given?.split(',') ?? [];
  const [fleet] = names;
  const all = [...(names.length > 1 ? names : []), ...(fleets === undefined ? [] : [fleets])];
  return { fleet, fleets: all.length === 0 ? undefined : all.join(',') };
}
