/**
 * Reads stopgate.yaml (docs/protocol.md §8). Strict: unknown keys and invalid values are problems with a line and
 * column. It takes a text, and reads no file, environment or clock.
 */
import { dirname, posix, resolve } from 'node:path';
import { payloadBytesMax } from '../../machines/index.ts';
import { normalizeDayBudget } from '../../machines/policy/budget.ts';
import { noPolicies } from '../../machines/policy/policy-set.ts';
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

/** `path` is joined by dots; '' is the whole file. */
export type Problem = Position & { readonly path: string; readonly message: string };
/** `isEmpty`: nothing is written in it, but perhaps comments. */
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
 * @param path of the file: what stands in it is relative to its folder, and messages begin with its name
 * `problems` come in the order of the file, 50 at most. An empty text gives the defaults.
 */
export function readConfigFile(text: string, path: string): ReadConfigFile {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: inOrder(yaml.problems.map((it) => ({ ...it, path: '' }))) };
  const { value, isEmpty, locate } = yaml;
  const result = fileForm.safeParse(value, { reportInput: true });
  const faults = result.success
    ? [
        ...oversizeOf(blockOnErrors(value as RawForm)),
        ...findImpossible(value as RawForm).map((it) => ({ ...it, part: 'value' as const })),
      ]
    : describeFaults(result.error.issues, fileForm);
  if (!result.success || faults.length > 0) {
    const problems = faults.slice(0, problemsMax).map((it) => ({
      ...locate(it.path, it.part),
      path: it.path.map(String).join('.'),
      message: it.message,
    }));
    return { ok: false, problems: inOrder(problems) };
  }
  const raw = blockOnErrors(value as RawForm);
  const form = raw === value ? result.data : fileForm.parse(raw);
  const unknownNames = findUnknownNames(raw, form).map(
    (it) => `${describePosition(locate(it.path), path)}: ${it.message}`,
  );
  return { ok: true, file: toConfigFile(form, raw, dirname(resolve(path))), isEmpty, unknownNames, locate };
}

/** An alias gives the same problem at each of its uses: it is reported once. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const told = new Map(problems.map((it) => [`${it.line}:${it.column}: ${it.message}`, it]));
  return [...told.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

function toConfigFile(form: FileForm, raw: RawForm, folder: string): ConfigFile {
  const { escalation } = form;
  const commands = Object.entries(form.commands ?? {}).map(([name, it]) => [name, toCommand(it, folder)] as const);
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
      forgetMs: form.forget === undefined ? noPolicies.forgetMs : form.forget,
      waitingMs: escalation?.waiting === undefined ? noPolicies.waitingMs : escalation.waiting,
      unattendedMs: escalation?.unattended === undefined ? noPolicies.unattendedMs : escalation.unattended,
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

/** @param toPath makes a path of the file absolute */
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
  if (!hasTimes && [policies, assign, budget, releaseAfter, forget].every((it) => it === undefined)) return null;
  return {
    policies: policies ?? {},
    ...(assign === undefined ? {} : { assign }),
    ...(budget === undefined ? {} : { budget }),
    ...(releaseAfter === undefined ? {} : { releaseAfter }),
    ...(forget === undefined ? {} : { forget }),
    ...(hasTimes ? { escalation: times } : {}),
  };
}

/** Policies go into the log as one entry, so they must fit into one. */
function oversizeOf(raw: RawForm): { path: Path; part: 'key'; message: string }[] {
  const bytes = Buffer.byteLength(JSON.stringify(policyFormOf(raw)));
  if (bytes <= payloadBytesMax) return [];
  const message = `policies and assign come to ${bytes} bytes; an entry of the log holds ${payloadBytesMax}`;
  return [{ path: [raw.policies === undefined ? 'assign' : 'policies'], part: 'key', message }];
}

// Finds what the schema of stopgate.yaml cannot see: names that refer to nothing, and checks that would be in error
// at every stop.

type Fault = { readonly path: Path; readonly message: string };

/** The commands of a policy with a runner are in that runner's configuration, which we do not have. */
function findUnknownNames({ policies = {}, assign = [] }: RawForm, { commands = {} }: FileForm): Fault[] {
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
function blockOnErrors(raw: RawForm): RawForm {
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
