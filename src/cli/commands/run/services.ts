/** serve, dev and runner: commands that run the service, or a part of it, until they are stopped. */
import { resolve } from 'node:path';
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { type Arguments, type DevFlags, defineCommand, flag, listOption, option } from '../../command.ts';
import { clientArgs, countFrom, idOf, toTimeout } from '../../option-values.ts';

export const serveArgs = {
  http: option(
    'HOST:PORT|off',
    'the address for hooks, API and metrics (STOPGATE_HTTP; default: 127.0.0.1:4280); needs --token if other machines can reach it',
  ),
  fleet: option('F', 'the fleet to serve (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'the configuration file (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
  token: option('TOKEN', 'the token for HTTP callers (prefer STOPGATE_TOKEN: process lists show options)'),
  'public-url': option(
    'URL',
    'the public URL of the service behind a proxy, e.g. https://stopgate.example.com or https://example.com/stopgate/ (STOPGATE_PUBLIC_URL)',
  ),
  'tls-cert': option('FILE', 'serve HTTPS with this PEM certificate, reloaded when it changes (STOPGATE_TLS_CERT)'),
  'tls-key': option('FILE', 'the private key of the certificate (STOPGATE_TLS_KEY)'),
  'log-level': option(
    'LEVEL',
    'log level on stderr: debug, info, warn, error or silent (STOPGATE_LOG_LEVEL; default: info)',
  ),
  'accept-empty-log': flag('start even if an earlier log is gone, and accept the loss of its history'),
} as const satisfies Arguments;

/** Maps the options that `serve` and `dev` share to configuration options. */
const readServeOptions = (
  flags: Readonly<
    Record<'http' | 'config' | 'token' | 'public-url' | 'tls-cert' | 'tls-key' | 'log-level', string | undefined>
  >,
) => ({
  http: flags.http,
  config: flags.config,
  token: flags.token,
  publicUrl: flags['public-url'],
  tlsCert: flags['tls-cert'],
  tlsKey: flags['tls-key'],
  logLevel: flags['log-level'],
});

const natsServerArgs = {
  port: option('PORT', 'the port of its NATS server (default: 4222; 0 for any free port)', countFrom(0, 65_535)),
  store: option('DIR', 'the data folder of its NATS server (default: .stopgate)'),
} as const satisfies Arguments;

/** Maps the options about the NATS server that `dev` and `serve --embedded` start. */
function readNatsServer(
  flags: {
    readonly port: number | undefined;
    readonly store: string | undefined;
    readonly 'accept-empty-log': boolean;
  },
  cwd: string,
): DevFlags {
  return {
    store: flags.store === undefined ? undefined : resolve(cwd, flags.store),
    port: flags.port,
    acceptEmptyLog: flags['accept-empty-log'],
  };
}

/** Runs the service on an existing NATS server. */
export const serve = defineCommand({
  args: {
    nats: option('URL', 'the NATS servers, separated by commas (STOPGATE_NATS; default: nats://127.0.0.1:4222)'),
    creds: option('FILE', 'credentials for the role "service" (STOPGATE_CREDS)'),
    ...serveArgs,
    fleet: listOption('F', 'the fleet to serve; may be repeated (STOPGATE_FLEET; default: main)', String),
    fleets: listOption(
      'PATTERN',
      "also every fleet that has a log and matches, such as 'team-*' (STOPGATE_FLEETS)",
      String,
    ),
    shard: option(
      'K/N',
      'serve only the fleets of shard K of N, counted from 1; several processes may serve one shard (STOPGATE_SHARD)',
    ),
    replica: option('NAME', 'the name of this replica (STOPGATE_REPLICA; default: generated)'),
    replicas: option(
      'N',
      'the number of copies of a new log in a NATS cluster, 1 to 5 (default: 3, or 1 with fewer than three nodes)',
      countFrom(1, 5),
    ),
    rules: option('N', 'the newest rules version to use (default: the newest that every replica knows)'),
    embedded: flag('start a NATS server as a child process instead of using --nats'),
    port: { ...natsServerArgs.port, description: `with --embedded: ${natsServerArgs.port.description}` },
    store: { ...natsServerArgs.store, description: `with --embedded: ${natsServerArgs.store.description}` },
  },
  details: [
    'Serves fleets on a NATS server with JetStream (2.9 or later). Runs until Ctrl-C or SIGTERM.',
    'Any number of replicas may run on one NATS server. They share the requests, and losing one loses no data.',
    'Once ready it prints one line of JSON with its addresses. Its log goes to stderr.',
  ],
  examples: [
    'stopgate serve --nats nats://127.0.0.1:4222',
    "stopgate serve --fleet main --fleets 'team-*' --shard 2/8",
    'stopgate serve --embedded --http off --config stopgate.yaml',
  ],
  run: async ({ flags, io, services }) => {
    const { nats, creds, replica, replicas, shard, embedded } = flags;
    if (embedded && nats !== undefined)
      throw new AppError('input.bad', '--embedded and --nats cannot be used together; use one of them');
    if (!embedded && (flags.port !== undefined || flags.store !== undefined)) {
      throw new AppError('input.bad', '--port and --store are options of the embedded NATS server; add --embedded');
    }
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

/** Imports the rules on demand, because nothing else here needs the machines. */
async function readRules(text: string): Promise<number> {
  const { releasedRules, rulesRange } = await import('../../../../machines/rules/rules.ts');
  return countFrom(...rulesRange(releasedRules))(text);
}

type FleetFlags = Readonly<Record<'fleet' | 'fleets', readonly string[] | undefined>>;

/** The first `--fleet` is the default fleet of HTTP requests. */
function readFleets({ fleet: names = [], fleets = [] }: FleetFlags) {
  const [fleet] = names;
  const all = [...(names.length > 1 ? names : []), ...fleets];
  return { fleet, fleets: all.length === 0 ? undefined : all.join(',') };
}

/** Runs everything on this machine, for a first try and for a developer's own agents. */
export const dev = defineCommand({
  args: {
    port: natsServerArgs.port,
    http: serveArgs.http,
    fleet: serveArgs.fleet,
    store: natsServerArgs.store,
    config: serveArgs.config,
    token: serveArgs.token,
    'public-url': serveArgs['public-url'],
    'tls-cert': serveArgs['tls-cert'],
    'tls-key': serveArgs['tls-key'],
    'log-level': serveArgs['log-level'],
    'accept-empty-log': serveArgs['accept-empty-log'],
    'idle-exit': option(
      'DURATION',
      'exit when no agent has called for this long, e.g. 30m (default: never)',
      toTimeout,
    ),
  },
  details: [
    'Starts a NATS server, which keeps its data in .stopgate/, and the service. Runs until Ctrl-C.',
    'For an existing NATS server, use "stopgate serve --nats URL".',
    'Once ready it prints one line of JSON with its addresses. Other commands in this folder find it automatically.',
  ],
  examples: ['stopgate dev', 'stopgate dev --port 0 --http 127.0.0.1:0 --store /tmp/try'],
  run: async ({ flags, io, services }) => {
    const resolved = await loadConfig({
      flags: { ...readServeOptions(flags), fleet: flags.fleet },
      cwd: io.cwd,
      env: io.env,
      serving: true,
    });
    return services.dev(resolved, { ...readNatsServer(flags, io.cwd), idleExitMs: flags['idle-exit'] }, io);
  },
});

/** Runs checks with side effects, next to a workspace. */
export const runner = defineCommand({
  args: {
    name: option('N', 'required: the name that policies use for this runner (runner: N)', idOf('runner')),
    nats: clientArgs.nats,
    creds: {
      ...clientArgs.creds,
      description:
        'credentials for the role "runner" (STOPGATE_CREDS); those of "stopgate dev" are found automatically',
    },
    fleet: option('F', 'the fleet whose checks it runs (STOPGATE_FLEET; default: main)'),
    config: option(
      'FILE',
      'the configuration file with its commands and roots (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)',
    ),
    'log-level': serveArgs['log-level'],
  },
  details: [
    'Runs the "command", "files", "git" and "judge" checks of policies that name it, next to the workspace: on another machine than the service, or as another user. Commands and roots come only from its own configuration, which it reloads on change. Runners with the same name share the checks.',
    'Once ready it prints one line of JSON. Its log goes to stderr. Ctrl-C or SIGTERM ends it and everything it runs; running checks then fail with an error.',
  ],
  examples: ['stopgate runner --name box', 'stopgate runner --name gpu --nats nats://host:4222 --creds gpu.creds'],
  run: async ({ flags, io, services }) => {
    const { name, nats, creds, fleet, config, 'log-level': logLevel } = flags;
    if (name === undefined) {
      throw new AppError(
        'input.bad',
        '--name is missing; give the name that policies use for this runner, e.g. --name box',
      );
    }
    // A runner does not use HTTP, so a bad address in a file or variable must not stop it.
    const given = { nats, creds, fleet, config, logLevel, http: 'off' };
    return services.runner(await loadConfig({ flags: given, cwd: io.cwd, env: io.env, ownFile: true }), name, io);
  },
});
