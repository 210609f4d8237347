/** check: validates a stopgate.yaml without a service, for editors and CI. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { missingPrograms } from '../../../agents/setup/local-context.ts';
import { loadConfig, missingSecrets } from '../../../config/config.ts';
import type { ConfigFile } from '../../../config/file.ts';
import { readConfigFile } from '../../../config/file-reader.ts';
import { describePosition } from '../../../config/problems.ts';
import { AppError } from '../../../errors.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { clean } from '../../../terminal/text.ts';
import { defineCommand, flag, optionalArgument } from '../../command.ts';
import { readText, requireDefaultFile } from '../../input.ts';

export const check = defineCommand({
  args: {
    file: optionalArgument('FILE', 'the configuration file, or - for stdin (default: stopgate.yaml)'),
    elsewhere: flag('the service runs on another machine: only note what is missing on this one'),
    json: flag('print JSON'),
  },
  details: [
    'Reads the file like a service that starts on this machine, and reports everything that would make the start fail or can never work. ' +
      'Each problem has a line and column; exit code 2. With --elsewhere, variables and files that ' +
      'are missing on this machine are only noted.',
  ],
  examples: ['stopgate check', 'stopgate check deploy/stopgate.yaml --json'],
  run: async ({ flags, io, out, note }) => {
    const file = flags.file ?? 'stopgate.yaml';
    requireDefaultFile(file, flags.file, io, 'write one (docs/policies.md), or name your file: "stopgate check FILE"');
    const path = file === '-' ? 'stdin' : file;
    const read = readConfigFile(await readText(file, io), resolve(io.cwd, path));
    const found = read.ok
      ? read.unknownNames
      : read.problems.map((problem) => `${describePosition(problem, path)}: ${problem.message}`);
    const missing = read.ok ? await startFaults({ ...read, path }, file, io) : [];
    const here = missing
      .filter((text) => !found.includes(text))
      .map((text) => `${text}; the service will not start here`);
    const problems = flags.elsewhere
      ? found
      : [...found, ...here.map((text) => `${text}; if it runs on another machine, add --elsewhere`)];
    const notes = read.ok
      ? [
          ...withoutRules(read.file),
          ...withoutDefault(read.file),
          ...shortTimeouts(read.file),
          ...missingFolders(read.file.commands),
          ...missingRoots(read.file.roots),
          ...[...missingPrograms(read.file.commands, io.env)].map(
            ([name, program]) => `commands.${name}: there is no program '${program}' on the PATH of this machine`,
          ),
          ...(flags.elsewhere ? here : []),
        ]
      : [];
    const policies = read.ok ? [...read.file.policySet.policies.keys()] : [];
    const commands = read.ok ? Object.keys(read.file.commands) : [];
    if (flags.json) await out.json({ valid: problems.length === 0, file: path, policies, commands, problems, notes });
    else if (problems.length === 0) {
      await out.print(
        `${path} is valid: ${count(policies, 'policy', 'policies')}, ${count(commands, 'command', 'commands')}`,
      );
    }
    for (const line of [...problems, ...notes.map((text) => `note: ${text}`)]) note(clean(line));
    return problems.length === 0 ? 0 : 2;
  },
});

/** The file of a runner is not noted, because it has commands instead of policies. */
const withoutRules = ({ policyForm, commands }: ConfigFile): string[] =>
  policyForm === null && Object.keys(commands).length === 0 ? ['no policies: every stop is allowed'] : [];

/** A worker for which nobody chose a policy gets `default`. */
function withoutDefault({ policySet: { policies } }: ConfigFile): string[] {
  if (policies.size === 0 || policies.has('default')) return [];
  return ['no policy is named "default": a worker for which none is chosen may always stop'];
}

/** A number without a unit is in milliseconds, so a small one is probably meant in seconds. */
const shortMs = 100;

function shortTimeouts({ commands, policySet: { policies } }: ConfigFile): string[] {
  const ofCommands = Object.entries(commands).map(([name, { timeoutMs }]) => [`commands.${name}`, timeoutMs] as const);
  const ofChecks = [...policies].flatMap(([name, { checks }]) =>
    checks.map((check) => [`check ${check.name} of policy ${name}`, check.timeoutMs] as const),
  );
  return [...ofCommands, ...ofChecks]
    .filter(([, ms]) => ms !== null && ms < shortMs)
    .map(([what, ms]) => `${what}: its timeout is ${ms} ms; write ${ms}s for seconds`);
}

function missingFolders(commands: ConfigFile['commands']): string[] {
  return Object.entries(commands)
    .filter(([, { cwd }]) => cwd !== 'worker' && !existsSync(cwd))
    .map(([name, { cwd }]) => `commands.${name}: there is no folder '${cwd}' on this machine`);
}

/** Returns what would make a service fail at its start in this environment. */
async function startFaults(
  read: Parameters<typeof missingSecrets>[0],
  file: string,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<string[]> {
  const tlsFaults = Object.values(read.file.tls ?? {})
    .filter((path) => !existsSync(path))
    .map((path) => `tls: there is no file '${path}'`);
  if (file === '-') return [...missingSecrets(read, env), ...tlsFaults];
  try {
    await loadConfig({ flags: { config: file }, cwd, env, serving: true });
    return tlsFaults;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [...error.message.split('\n'), ...tlsFaults];
  }
}

const missingRoots = (roots: readonly string[]): string[] =>
  roots.filter((root) => !existsSync(root)).map((root) => `the root '${root}' does not exist on this machine`);

function count(names: readonly string[], one: string, many: string): string {
  const list = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return `${names.length} ${names.length === 1 ? one : many}${list}`;
}
