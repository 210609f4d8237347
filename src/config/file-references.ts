/** Names in stopgate.yaml that refer to nothing. A check without its command would be an error at every stop. */
import type { CheckForm, FileForm, RawForm } from './file-schema.ts';
import type { Path } from './position.ts';

type Fault = { readonly path: Path; readonly message: string };

/** The commands of a policy with a runner are in that runner's configuration, which we do not have. */
export function findUnknownNames({ policies = {}, assign = [] }: RawForm, { commands = {} }: FileForm): Fault[] {
  const checks = Object.entries(policies)
    .filter(([, policy]) => policy.runner === undefined && policy.runners === undefined)
    .flatMap(([name, policy]) => commandChecks(policy.checks ?? [], ['policies', name, 'checks']));
  const unknownCommands = checks
    .filter(({ command }) => !Object.hasOwn(commands, command))
    .map(({ path, command }) => ({ path, message: `the command "${command}" is not among commands` }));
  const unknownPolicies = assign.flatMap(({ policy }, index) =>
    policy === 'default' || Object.hasOwn(policies, policy)
      ? []
      : [{ path: ['assign', index, 'policy'], message: `the policy "${policy}" is not among policies` }],
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

/** `strict: true`: a check that cannot be judged blocks, whatever its own `onError`. The form is a valid one. */
export function blockOnErrors(raw: RawForm): RawForm {
  if (raw.strict !== true || raw.policies === undefined) return raw;
  const policies = Object.entries(raw.policies).map(([name, policy]) => [
    name,
    policy.checks === undefined ? policy : { ...policy, checks: policy.checks.map(blockOnError) },
  ]);
  return { ...raw, policies: Object.fromEntries(policies) };
}

function blockOnError(check: CheckForm): CheckForm {
  const { all, any } = check;
  return {
    ...check,
    ...(all === undefined ? {} : { all: all.map(blockOnError) }),
    ...(any === undefined ? {} : { any: any.map(blockOnError) }),
    onError: 'block',
  };
}
