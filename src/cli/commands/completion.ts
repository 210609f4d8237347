/** completion: a script for the shell. */
import { defineCommand } from '../command.ts';
import { formatCompletion, readShell } from '../completion-script.ts';

export const completion = defineCommand({
  args: {
    shell: { type: 'positional', valueHint: 'SHELL', description: 'bash, zsh or fish' },
  },
  details: [
    "Prints a script that completes commands and their options. Put the line into the shell's own startup file.",
  ],
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
