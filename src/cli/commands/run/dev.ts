/** dev: everything on this machine, for a first try and for a developer's own agents. */
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { defineCommand, option } from '../../command.ts';
import { readDuration } from '../../option-values.ts';
import { natsServerArgs, readNatsServer, readServeOptions, serveArgs } from './server-args.ts';

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
    'idle-exit': option('DURATION', 'exit when no agent has sent anything for this long, e.g. 30m (default: never)'),
  },
  details: [
    'Starts a NATS server that keeps its log in .stopgate/, and the service. Runs until Ctrl-C.',
    'For a NATS server that runs already, use "stopgate serve --nats URL".',
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
    const idle = flags['idle-exit'];
    const idleExitMs = idle === undefined ? undefined : readDuration('--idle-exit', idle);
    if (idleExitMs === 0) throw new AppError('input.bad', `--idle-exit '${idle}' would end it at once: write e.g. 30m`);
    return services.dev(resolved, { ...readNatsServer(flags, io.cwd), idleExitMs }, io);
  },
});
