/** runner: checks with side effects, next to a workspace. */
import { loadConfig } from '../../config/config.ts';
import { AppError } from '../../errors.ts';
import { clientArgs } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { readId } from '../option-values.ts';
import { serveArgs } from '../server-args.ts';

export const runner = defineCommand({
  args: {
    name: {
      type: 'string',
      valueHint: 'N',
      description: 'what policies call it: runner: N, or one of runners: [N, …]',
    },
    nats: clientArgs.nats,
    creds: {
      ...clientArgs.creds,
      description: 'credentials of role runner (STOPGATE_CREDS); of "stopgate dev" they are found',
    },
    fleet: { type: 'string', valueHint: 'F', description: 'whose checks it runs (STOPGATE_FLEET; default: main)' },
    config: {
      type: 'string',
      valueHint: 'FILE',
      description: 'its commands and roots (STOPGATE_CONFIG; default: stopgate.yaml, where there is one)',
    },
    'log-level': serveArgs['log-level'],
  },
  details: [
    'Runs the "command", "files" and "git" checks of the policies that name it, where the workspace is: on another',
    'machine than the service, or as another user. Its commands and roots come from its own configuration',
    'alone, which it follows. Several runners of one name share the checks.',
    'When it is ready it prints one JSON line; its log goes to stderr. Ctrl-C or SIGTERM ends it with all that',
    'it runs; a check that was running is then in error.',
  ],
  examples: ['stopgate runner --name box', 'stopgate runner --name gpu --nats nats://host:4222 --creds gpu.creds'],
  run: async ({ flags, io, services }) => {
    const { name, nats, creds, fleet, config, 'log-level': logLevel } = flags;
    if (name === undefined) {
      throw new AppError(
        'input.bad',
        '--name is missing: the name by which policies know this runner, as in --name box',
      );
    }
    const runner = readId('runner', name);
    // HTTP is nothing to a runner, so what a file or variable says of it cannot be wrong here.
    const given = { nats, creds, fleet, config, logLevel, http: 'off' };
    return services.runner(await loadConfig({ flags: given, cwd: io.cwd, env: io.env, ownFile: true }), runner, io);
  },
});
