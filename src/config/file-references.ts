/**
 * Finds what the schema of stopgate.yaml cannot see: names that refer to nothing, and checks that would be in error at
 * every stop.
 */
import { posix } from 'node:path';
import type { CheckForm, FileForm, RawForm } from './file-schema.ts';
import type { Path } from './problems.ts';

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

/**
 * Finds what can never work: two answers to who runs the checks, files that are never in a worker's folder, and a
 * secret of the service in a command, which an agent often wrote.
 */
export function findImpossible(raw: RawForm): Fault[] {
  return [...findBadChecks(raw), ...findInheritedSecrets(raw)];
}

function findInheritedSecrets({ commands = {}, tokens = {}, escalation }: RawForm): Fault[] {
  const secrets = new Set([...Object.values(tokens).map(({ env }) => env), escalation?.webhook?.secretEnv]);
  return Object.entries(commands).flatMap(([name, { inherit = [] }]) =>
    inherit.flatMap((variable, index) =>
      secrets.has(variable)
        ? [
            {
              path: ['commands', name, 'inherit', index],
              message: `"${variable}" holds a secret of the service (tokens, or secretEnv of the webhook), which no command gets`,
            },
          ]
        : [],
    ),
  );
}

function findBadChecks({ policies = {} }: RawForm): Fault[] {
  return Object.entries(policies).flatMap(([name, { runner, runners, checks = [] }]) => [
    ...(runner === undefined || runners === undefined
      ? []
      : [{ path: ['policies', name, 'runners'], message: 'runner and runners exclude each other: remove one' }]),
    ...filesOutside(checks, ['policies', name, 'checks']),
  ]);
}

function filesOutside(checks: readonly CheckForm[], at: Path): Fault[] {
  return checks.flatMap(({ files = [], all, any }, index) => [
    ...files.flatMap((file, nth) =>
      isOutside(file)
        ? [
            {
              path: [...at, index, 'files', nth],
              message: `${JSON.stringify(file)} is outside every worker's folder, and files are relative to that`,
            },
          ]
        : [],
    ),
    ...filesOutside(all ?? [], [...at, index, 'all']),
    ...filesOutside(any ?? [], [...at, index, 'any']),
  ]);
}

const isOutside = (file: string): boolean =>
  posix.isAbsolute(file) || posix.normalize(file) === '..' || posix.normalize(file).startsWith('../');

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

/** One that only warns does so too where it cannot be judged, unless it has an `onError` of its own. */
function blockOnError(check: CheckForm): CheckForm {
  const { all, any, onFail, onError } = check;
  if (onFail === 'warn' && onError === undefined) return check;
  return {
    ...check,
    ...(all === undefined ? {} : { all: all.map(blockOnError) }),
    ...(any === undefined ? {} : { any: any.map(blockOnError) }),
    onError: 'block',
  };
}
