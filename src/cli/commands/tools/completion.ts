/** completion: a script for the shell, and the values that it asks for. */
import { AppError } from '../../../errors.ts';
import { choice, defineCommand } from '../../command.ts';
import { clientArgs } from '../../option-values.ts';
import { formatCompletion, readShell, shells } from './completion-script.ts';
import { completionLists, listValues } from './completion-values.ts';

const { json: _, ...place } = clientArgs;

export const completion = defineCommand({
  args: {
    shell: {
      type: 'positional',
      required: false,
      valueHint: 'SHELL',
      description: 'bash, zsh or fish',
      completions: shells,
    },
    list: choice(
      'LIST',
      completionLists,
      'print what there is now, one a line, as the scripts ask for it: nothing where it cannot be had at once',
    ),
    ...place,
  },
  details: [
    'Prints a script that completes commands, options, and existing workers, tasks, queues and policies. Add the line to the startup file of your shell. It also completes "npx stopgate" if the package is installed, and in a clone of its repository.',
    'If stopgate is not on PATH, use "npx stopgate completion SHELL".',
  ],
  examples: [
    'eval "$(stopgate completion bash)"          # ~/.bashrc',
    'source <(stopgate completion zsh)           # ~/.zshrc, after compinit',
    'stopgate completion fish | source           # ~/.config/fish/config.fish',
  ],
  run: async ({ flags, io, out, commands }) => {
    if (flags.list !== undefined) {
      const values = await listValues(flags.list, flags, io);
      await out.write(values.map((value) => `${value}\n`).join(''));
      return 0;
    }
    if (flags.shell === undefined)
      throw new AppError('input.bad', 'SHELL is missing (see "stopgate completion --help")');
    await out.write(await formatCompletion(readShell(flags.shell), commands));
    return 0;
  },
});
