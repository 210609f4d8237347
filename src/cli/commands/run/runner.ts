/** runner: checks with side effects, next to a workspace. */
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { defineCommand, option } from '../../command.ts';
import { clientArgs, readId } from '../../option-values.ts';
import { serveArgs } from './server-args.ts';

export const runner = defineCommand({
  args: {
    name: option('N', 'the name that policies use, as in runner: N or runners: [N, …]'),
    nats: clientArgs.nats,
    creds: {
      ...clientArgs.creds,
      description: 'credentials of the role runner (STOPGATE_CREDS); those of "stopgate dev" are found automatically',
    },
    fleet: option('F', 'the fleet whose checks it runs (STOPGATE_FLEET; default: main)'),
    config: option(
      'FILE',
      'the file with its commands and roots (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)',
    ),
    'log-level': serveArgs['log-level'],
  },
  details: [
    'Runs the "command", "files", "git" and "judge" checks of the policies that name it, next to the workspace: on another machine than the service, or as another user. Its commands and roots come only from its own configuration, which it reloads when it changes. Runners with the same name share the checks.',
    'Once ready it prints one line of JSON. Its log goes to stderr. Ctrl-C or SIGTERM ends it and everything it runs; a check that was running then ends in an error.',
  ],
  examples: ['stopgate runner --name box', 'stopgate runner --name gpu --nats nats://host:4222 --creds gpu.creds'],
  run: async ({ flags, io, services }) => {
    const { name, nats, creds, fleet, config, 'log-level': logLevel } = flags;
    if (name === undefined) {
      throw new AppError('input.bad', '--name is missing: the name that policies use for this runner, e.g. --name box');
    }
    const runner = readId('runner', name);
    // A runner has no HTTP, so a bad address in a file or variable must not stop it.
    const given = { nats, creds, fleet, config, logLevel, http: 'off' };
    return services.runner(await loadConfig({ flags: given, cwd: io.cwd, env: io.env, ownFile: true }), runner, io);
  },
});
