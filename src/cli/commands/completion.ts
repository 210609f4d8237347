/** completion: a script for the shell. */
import { defineCommand } from '../command.ts';
import { formatCompletion, readShell } from '../completion-script.ts';

export const completion = defineCommand({
  args: {
    shell: { type: 'positional', valueHint: 'SHELL', description: 'bash, zsh or fish' },
  },
  details: ['Prints a script that completes commands and options. Add the line to the startup file of your shell.'],
  examples: [
    'eval "$(stopgate completion bash)"          # ~/.bashrc',
    'source <(stopgate completion zsh)           # ~/.zshrc, after compinit',
    'stopgate completion fish | source           # ~/.config/fish/config.fish',
  ],
  run: async ({ flags, out, commands }) => {
    await out.write(await formatCompletion(readShell(flags.shell), commands));
    return 0;
  },
});
