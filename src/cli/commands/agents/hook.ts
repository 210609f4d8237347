/** hook: one call of an agent. `main.ts` runs the same code without the command line; this is its help. */
import { agents } from '../../../agents/index.ts';
import { runHook } from '../../../hook-command/run.ts';
import { argument, choice, defineCommand, flag, option } from '../../command.ts';

export const hook = defineCommand({
  args: {
    agent: argument('AGENT', [...agents.keys()].join(', ')),
    http: option(
      'HOST:PORT',
      'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder or above, else 127.0.0.1:4280)',
    ),
    event: option('NAME', 'the event, for agents whose call does not name it'),
    worker: option('W', 'shell: the name of its worker'),
    policy: option('P', 'the policy of the agent, if nothing else names one'),
    fleet: option('F', 'its fleet, if the service serves several'),
    'token-env': option('NAME', 'the variable with the token of the service (default: STOPGATE_TOKEN)'),
    timeout: option('DURATION', 'how long to wait: 500ms, 5s, 10m (default: 5s to 595s, by agent and event)'),
    'on-unreachable': choice('WORD', ['allow', 'block'], 'what happens to a stop that could not be judged', 'allow'),
    wake: flag('claude: judge nothing; wait in the background for a resolution, and wake the session with its prompt'),
    autostart: option(
      'DIR',
      'start "stopgate dev" in this folder if no service answers; it exits after 30 idle minutes',
    ),
  },
  details: [
    'Reads one hook call as JSON on stdin, posts it to the service and prints the answer. "stopgate init" writes this line.',
    'Never breaks the agent: a stop that could not be judged is allowed (see --on-unreachable), with a notice on stderr.',
    'shell: exit code 0, it may stop; 2, it may not, and stderr has the reason. Exit code 1: this line itself is wrong.',
  ],
  examples: ['stopgate hook claude < call.json', 'stopgate hook shell --worker w1 || echo "go on"'],
  run: async ({ flags, io }) => {
    const options = Object.entries(flags).filter(
      ([name, value]) => name !== 'agent' && value !== undefined && value !== false,
    );
    const argv = [
      flags.agent,
      ...options.map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`)),
    ];
    return runHook(argv, io);
  },
});
