/** Warnings about a valid stopgate.yaml that names something which does not exist. */
import type { CheckForm, FileForm, RawForm } from './file-schema.ts';
import type { Path } from './position.ts';

export type Warning = { readonly path: Path; readonly message: string };

/** The commands of a policy with a runner are in that runner's configuration, which we do not have. */
export function findWarnings({ policies = {}, assign = [] }: RawForm, { commands = {} }: FileForm): Warning[] {
  const checks = Object.entries(policies)
    .filter(([, policy]) => policy.runner === undefined && policy.runners === undefined)
    .flatMap(([name, policy]) => commandChecks(policy.checks ?? [], ['policies', name, 'checks']));
  const unknownCommands = checks
    .filter(({ command }) => !Object.hasOwn(commands, command))
    .map(({ path, command }) => ({ path, message: `the command "${command}" is not among commands` }));
  const unknownPolicies = assign.flatMap(({ policy }, index) =>
    policy === 'default' || Object.hasOwn(policies, policy)
      ? []
      : [
          {
            path: ['assign', index, 'policy'],
            message: `the policy "${policy}" is not among policies: default will hold`,
          },
        ],
  );
  return [...unknownCommands, ...unknownPolicies];
}

function commandChecks(checks: readonly CheckForm[], at: Path): { path: Path; command: string }[] {
  return checks.flatMap(({ command, all, any }, index) => [
    ...(command === undefined ? [] : [{ path: [...at, index, 'command'], command }]),
    ...commandChecks(all ?? [], [...at, index, 'all']),
    ...commandChecks(any ?? [], [...at, index, 'any']),
  ]);
}
