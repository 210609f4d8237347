/** check: is a stopgate.yaml valid? It needs no service, and is for editors and CI. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { missingSecrets } from '../../config/config.ts';
import type { ConfigFile } from '../../config/file.ts';
import { readConfigFile } from '../../config/file-reader.ts';
import { describePosition } from '../../config/position.ts';
import { clean } from '../../terminal/text.ts';
import { defineCommand } from '../command.ts';
import { readText } from '../input.ts';

export const check = defineCommand({
  args: {
    file: {
      type: 'positional',
      required: false,
      valueHint: 'FILE',
      description: 'the configuration (default: stopgate.yaml); -: stdin',
    },
    json: { type: 'boolean', description: 'print JSON, for programs' },
  },
  details: [
    'Reads the file as a service would at its start: keys, values, names of commands and policies. Each problem has its ' +
      'line and column, and the exit code is then 2. What may be different where the service runs (folders, variables) ' +
      'is only noted.',
  ],
  examples: ['stopgate check', 'stopgate check deploy/stopgate.yaml --json'],
  run: async ({ flags, io, out, note }) => {
    const file = flags.file ?? 'stopgate.yaml';
    const path = file === '-' ? 'stdin' : file;
    const read = readConfigFile(await readText(file, io), resolve(io.cwd, path));
    const problems = read.ok
      ? read.unknownNames
      : read.problems.map((it) => `${describePosition(it, path)}: ${it.message}`);
    const notes = read.ok
      ? [...withoutRules(read.file), ...missingRoots(read.file.roots), ...startFaults({ ...read, path }, io.env)]
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

/** A runner's file has commands and no policies. */
const withoutRules = ({ policyForm, commands }: ConfigFile): string[] =>
  policyForm === null && Object.keys(commands).length === 0
    ? ['there are no policies in it: every stop is allowed']
    : [];

/** What stops a service at its start. */
const startFaults = (read: Parameters<typeof missingSecrets>[0], env: Parameters<typeof missingSecrets>[1]): string[] =>
  [
    ...missingSecrets(read, env),
    ...Object.values(read.file.tls ?? {})
      .filter((path) => !existsSync(path))
      .map((path) => `tls: there is no file '${path}'`),
  ].map((text) => `${text}; the service will not start here`);

const missingRoots = (roots: readonly string[]): string[] =>
  roots.filter((root) => !existsSync(root)).map((root) => `the root '${root}' does not exist on this machine`);

function count(names: readonly string[], one: string, many: string): string {
  const list = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return `${names.length} ${names.length === 1 ? one : many}${list}`;
}
