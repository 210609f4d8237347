/** completion: prints a completion script for the shell, and the values that the scripts ask for. */
import { isId } from '../../../../machines/index.ts';
import { loadConfig } from '../../../config/config.ts';
import { contextsFile, readContexts } from '../../../config/contexts.ts';
import { AppError } from '../../../errors.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { withTimeout } from '../../../timer.ts';
import { choice, defineCommand, optionalArgument } from '../../command.ts';
import { connect, resolveAddress, type ServiceAddress } from '../../connection.ts';
import { addressArgs } from '../../option-values.ts';
import { type CompletionList, completionLists, formatCompletion, readShell, shells } from './completion-script.ts';

export const completion = defineCommand({
  args: {
    shell: optionalArgument('SHELL', 'bash, zsh or fish', shells),
    list: choice(
      'LIST',
      completionLists,
      'print the current values, one per line, for the completion scripts; prints nothing if the service does not answer at once',
    ),
    ...addressArgs,
  },
  details: [
    'Prints a script that completes commands, options, and existing workers, tasks, queues and policies. Add the line to the startup file of your shell. It also completes "npx stopgate" if the package is installed, and in a clone of its repository.',
    'If stopgate is not on your PATH, use "npx stopgate completion SHELL".',
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
      throw new AppError('input.bad', 'SHELL is missing; use bash, zsh or fish (see "stopgate completion --help")');
    await out.write(await formatCompletion(readShell(flags.shell), commands));
    return 0;
  },
});

// The current values. A person waits for them after pressing Tab, so this is quick and prints no errors.

const timeoutMs = 300;
/** Nobody would read more. */
const valuesMax = 1_000;

/**
 * Returns [] if the values do not arrive in time. Only ids, because bash expands the words it gets and anyone may reply
 * on NATS.
 */
const listValues = async (list: CompletionList, address: ServiceAddress, io: Io): Promise<readonly string[]> =>
  (await findValues(list, address, io)).filter(isId);

async function findValues(list: CompletionList, address: ServiceAddress, io: Io): Promise<readonly string[]> {
  if (list === 'agents') return [...(await import('../../../agents/index.ts')).agents.keys()];
  if (list === 'contexts') return [...readContexts(contextsFile(io.env)).byName.keys()];
  if (list === 'policies') return policiesIn(address, io).catch(() => []);
  const late = new AbortController();
  const values = askService(list, address, io, late.signal).catch(() => []);
  return withTimeout(timeoutMs, values, () => {
    late.abort();
    return [];
  });
}

async function policiesIn({ config }: ServiceAddress, { cwd, env }: Io): Promise<readonly string[]> {
  const { file } = await loadConfig({ flags: { config, http: 'off' }, cwd, env });
  return [...new Set(['default', ...file.policySet.policies.keys()])];
}

async function askService(
  list: CompletionList,
  address: ServiceAddress,
  io: Io,
  late: AbortSignal,
): Promise<readonly string[]> {
  const requester = await connect(await resolveAddress(address, io));
  late.addEventListener('abort', () => void requester.close().catch(() => undefined), { once: true });
  try {
    if (late.aborted) return [];
    const page = await requester.request('list', list, { limit: valuesMax }, timeoutMs);
    const { items } = page as { items: readonly Record<string, unknown>[] };
    return items.map((item) => String(item[list.slice(0, -1)]));
  } finally {
    await requester.close();
  }
}
