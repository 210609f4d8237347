/**
 * Reads stopgate.yaml (protocol.md §8) from a text. Strict: unknown keys and invalid values are problems with a line
 * and column. Reads no files, environment or clock.
 */
import { dirname, posix, resolve } from 'node:path';
import { payloadBytesMax } from '../../machines/index.ts';
import { normalizeDayBudget } from '../../machines/policy/budget.ts';
import { emptyPolicySet } from '../../machines/policy/policy-set.ts';
import type { TokenConfig, TokenSource } from './access-tokens.ts';
import {
  type CommandConfig,
  type ConfigFile,
  concurrencyDefault,
  type EscalationConfig,
  gitDefault,
  type PolicyForm,
} from './file.ts';
import { type CheckForm, type FileForm, fileForm, type RawForm } from './file-schema.ts';
import { describeFaults, describePosition, type Locate, type Path, type Position } from './problems.ts';
import { problemsMax, readYaml } from './yaml.ts';

/** `path` is joined by dots; '' means the whole file. */
export type Problem = Position & { readonly path: string; readonly message: string };
/** `isEmpty`: contains nothing except comments. */
export type ReadConfigFile =
  | {
      readonly ok: true;
      readonly file: ConfigFile;
      readonly isEmpty: boolean;
      readonly unknownNames: readonly string[];
      readonly locate: Locate;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const commandTimeoutMs = 120_000;

/**
 * @param path of the file: relative paths in it are resolved from its folder, and messages begin with its name
 * @returns at most 50 problems, in file order. An empty text gives the defaults.
 */
export function readConfigFile(text: string, path: string): ReadConfigFile {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: inOrder(yaml.problems.map((problem) => ({ ...problem, path: '' }))) };
  const { value, isEmpty, locate } = yaml;
  const result = fileForm.safeParse(value, { reportInput: true });
  const faults = result.success
    ? [
        ...oversizeOf(blockOnErrors(value as RawForm)),
        ...findImpossible(value as RawForm).map((fault) => ({ ...fault, part: 'value' as const })),
      ]
    : describeFaults(result.error.issues, fileForm);
  if (!result.success || faults.length > 0) {
    const problems = faults.slice(0, problemsMax).map((fault) => ({
      ...locate(fault.path, fault.part),
      path: fault.path.map(String).join('.'),
      message: fault.message,
    }));
    return { ok: false, problems: inOrder(problems) };
  }
  const raw = blockOnErrors(value as RawForm);
  const form = raw === value ? result.data : fileForm.parse(raw);
  const unknownNames = findUnknownNames(raw, form).map(
    (fault) => `${describePosition(locate(fault.path), path)}: ${fault.message}`,
  );
  return { ok: true, file: toConfigFile(form, raw, dirname(resolve(path))), isEmpty, unknownNames, locate };
}

/** Sorts problems and removes duplicates: an alias repeats a problem at each of its uses. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((problem) => [`${problem.line}:${problem.column}: ${problem.message}`, problem]));
  return [...unique.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function toConfigFile(form: FileForm, raw: RawForm, folder: string): ConfigFile {
  const { escalation } = form;
  const commands = Object.entries(form.commands ?? {}).map(
    ([name, command]) => [name, toCommand(command, folder)] as const,
  );
  return Object.freeze({
    fleet: form.fleet ?? null,
    fleets: form.fleets ?? null,
    nats: form.nats ?? null,
    creds: form.creds === undefined ? null : resolve(folder, form.creds),
    http: form.http ?? null,
    publicUrl: form.publicUrl ?? null,
    tls: form.tls === undefined ? null : { cert: resolve(folder, form.tls.cert), key: resolve(folder, form.tls.key) },
    tokens: toTokens(form.tokens ?? {}, (path) => resolve(folder, path)),
    replica: form.replica ?? null,
    policySet: {
      policies: form.policies ?? new Map(),
      assign: form.assign ?? [],
      budget: normalizeDayBudget(form.budget),
      releaseAfterMs: form.releaseAfter ?? null,
      forgetMs: form.forget === undefined ? emptyPolicySet.forgetMs : form.forget,
      waitingMs: escalation?.waiting === undefined ? emptyPolicySet.waitingMs : escalation.waiting,
      unattendedMs: escalation?.unattended === undefined ? emptyPolicySet.unattendedMs : escalation.unattended,
    },
    policyForm: policyFormOf(raw),
    roots: (form.roots ?? ['.']).map((root) => resolve(folder, root)),
    concurrency: form.concurrency ?? concurrencyDefault,
    git: {
      untracked: form.git?.untracked ?? gitDefault.untracked,
      worktrees: form.git?.worktrees ?? gitDefault.worktrees,
    },
    commands: Object.assign(Object.create(null), Object.fromEntries(commands)),
    escalation: escalation ? toEscalation(escalation) : null,
    retention: {
      forMs: form.retain?.for ?? null,
      bytesMax: form.retain?.bytes ?? null,
      archive: form.archive == null ? null : resolve(folder, form.archive),
    },
    replyPrefixes: form.replyPrefixes ?? [],
  });
}

/** @param toPath makes a path in the file absolute */
function toTokens(form: NonNullable<FileForm['tokens']>, toPath: (path: string) => string): TokenConfig[] {
  return Object.entries(form).map(([name, { role, workers = null, fleets = null, env, file, hash = [] }]) => {
    const source: TokenSource =
      env !== undefined ? { env } : file !== undefined ? { file: toPath(file) } : { hashes: [hash].flat() };
    return { name, role, workers, fleets, source };
  });
}

function toCommand(
  { run, cwd, timeout, feedback, inherit, env, reuse, speaks, diff }: NonNullable<FileForm['commands']>[string],
  folder: string,
): CommandConfig {
  return {
    run: run as [string, ...string[]],
    cwd: cwd === undefined || cwd === 'worker' ? 'worker' : resolve(folder, cwd),
    timeoutMs: timeout ?? commandTimeoutMs,
    feedback: feedback ?? 'tail',
    ...(inherit === undefined ? {} : { inherit }),
    ...(env === undefined ? {} : { env }),
    ...(reuse === undefined ? {} : { reuse }),
    ...(speaks === undefined ? {} : { speaks }),
    ...(diff === undefined ? {} : { diff }),
  };
}

function toEscalation({ remind, webhook }: NonNullable<FileForm['escalation']>): EscalationConfig {
  return {
    remindMs: remind ?? null,
    webhook: webhook
      ? {
          url: webhook.url,
          secretEnv: webhook.secretEnv ?? null,
          allowPrivate: webhook.allowPrivate ?? null,
          links: toLinks(webhook.links ?? null),
        }
      : null,
  };
}

const toLinks = (links: { readonly url: string; readonly by?: string | undefined } | null) =>
  links === null ? null : { url: links.url, by: links.by ?? 'webhook link' };

function policyFormOf({ policies, assign, budget, releaseAfter, forget, escalation }: RawForm): PolicyForm | null {
  const { waiting, unattended } = escalation ?? {};
  const times = { ...(waiting === undefined ? {} : { waiting }), ...(unattended === undefined ? {} : { unattended }) };
  const hasTimes = Object.keys(times).length > 0;
  if (!hasTimes && [policies, assign, budget, releaseAfter, forget].every((value) => value === undefined)) return null;
  return {
    policies: policies ?? {},
    ...(assign === undefined ? {} : { assign }),
    ...(budget === undefined ? {} : { budget }),
    ...(releaseAfter === undefined ? {} : { releaseAfter }),
    ...(forget === undefined ? {} : { forget }),
    ...(hasTimes ? { escalation: times } : {}),
  };
}

/** Policies go into the log as a single entry, which limits their size. */
function oversizeOf(raw: RawForm): { path: Path; part: 'key'; message: string }[] {
  const bytes = Buffer.byteLength(JSON.stringify(policyFormOf(raw)));
  if (bytes <= payloadBytesMax) return [];
  const message = `policies and assign have ${bytes} bytes; the maximum is ${payloadBytesMax}, since they are one entry of the log`;
  return [{ path: [raw.policies === undefined ? 'assign' : 'policies'], part: 'key', message }];
}

// Problems that the schema cannot find: names that refer to nothing, and checks that would fail at every stop.

type Fault = { readonly path: Path; readonly message: string };

/** Skips policies with a runner: their commands are in the configuration of that runner. */
function findUnknownNames({ policies = {}, assign = [] }: RawForm, { commands = {} }: FileForm): Fault[] {
  const checks = Object.entries(policies)
    .filter(([, policy]) => policy.runner === undefined && policy.runners === undefined)
    .flatMap(([name, policy]) => commandChecks(policy.checks ?? [], ['policies', name, 'checks']));
  const unknownCommands = checks
    .filter(({ command }) => !Object.hasOwn(commands, command))
    .map(({ path, command }) => ({ path, message: `command "${command}" is not defined under commands` }));
  const unknownPolicies = assign.flatMap(({ policy }, index) =>
    policy === 'default' || Object.hasOwn(policies, policy)
      ? []
      : [{ path: ['assign', index, 'policy'], message: `policy "${policy}" is not defined under policies` }],
  );
  return [...unknownCommands, ...unknownPolicies];
}

/**
 * Finds settings that can never work (both `runner` and `runners`, files outside every worker's folder), and secrets of
 * the service passed to a command, which may run an agent's code.
 */
function findImpossible(raw: RawForm): Fault[] {
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
              message: `"${variable}" holds a secret of the service (tokens, or secretEnv of the webhook), which commands must not get`,
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
      : [{ path: ['policies', name, 'runners'], message: 'runner and runners exclude each other; remove one' }]),
    ...filesOutside(checks, ['policies', name, 'checks']),
  ]);
}

function filesOutside(checks: readonly CheckForm[], base: Path): Fault[] {
  return checks.flatMap(({ files = [], all, any }, index) => [
    ...files.flatMap((file, nth) =>
      isOutside(file)
        ? [
            {
              path: [...base, index, 'files', nth],
              message: `${JSON.stringify(file)} is outside of every worker's folder; write a path inside of it`,
            },
          ]
        : [],
    ),
    ...filesOutside(all ?? [], [...base, index, 'all']),
    ...filesOutside(any ?? [], [...base, index, 'any']),
  ]);
}

const isOutside = (file: string): boolean =>
  posix.isAbsolute(file) || posix.normalize(file) === '..' || posix.normalize(file).startsWith('../');

function commandChecks(checks: readonly CheckForm[], base: Path): { path: Path; command: string }[] {
  return checks.flatMap(({ command, all, any }, index) => [
    ...(command === undefined ? [] : [{ path: [...base, index, 'command'], command }]),
    ...commandChecks(all ?? [], [...base, index, 'all']),
    ...commandChecks(any ?? [], [...base, index, 'any']),
  ]);
}

/**
 * Applies `strict: true`: a check that cannot be judged blocks, whatever its own `onError` says. `raw` must be valid.
 */
function blockOnErrors(raw: RawForm): RawForm {
  if (raw.strict !== true || raw.policies === undefined) return raw;
  const policies = Object.entries(raw.policies).map(([name, policy]) => [
    name,
    policy.checks === undefined ? policy : { ...policy, checks: policy.checks.map(blockOnError) },
  ]);
  return { ...raw, policies: Object.fromEntries(policies) };
}

/** A check with `onFail: warn` keeps warning when it cannot be judged, unless it has its own `onError`. */
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
