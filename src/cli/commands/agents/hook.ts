/** hook: help for `stopgate hook`. Normally src/hook-command parses its arguments without the command line. */
import { agents } from '../../../agents/index.ts';
import { hookOptions, wakeDescription } from '../../../hook-command/options.ts';
import { runHook } from '../../../hook-command/run.ts';
import { type Arguments, argument, choice, defineCommand, flag, option } from '../../command.ts';

const args: Arguments = {
  agent: argument('AGENT', [...agents.keys()].join(', ')),
  ...Object.fromEntries(
    Object.entries(hookOptions).map(([name, { valueHint, description, ...rest }]) => [
      name,
      'options' in rest ? choice(valueHint, rest.options, description) : option(valueHint, description),
    ]),
  ),
  wake: flag(wakeDescription),
};

export const hook = defineCommand({
  args,
  details: [
    'Reads one hook call as JSON on stdin, posts it to the service and prints the answer. "stopgate init" writes this command into the settings of the agent.',
    'Never breaks the agent: a stop that could not be judged is allowed (see --on-unreachable), with a notice on stderr.',
    'Exit codes for shell: 0 it may stop; 2 it may not, with the reason on stderr; 1 bad usage.',
  ],
  examples: ['stopgate hook claude < call.json', 'stopgate hook shell --worker w1 || echo "not yet"'],
  run: async ({ flags: { agent, ...flags }, io }) => {
    const options = Object.entries(flags).filter(([, value]) => value !== undefined && value !== false);
    const words = options.map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));
    return runHook([String(agent), ...words], io);
  },
});
