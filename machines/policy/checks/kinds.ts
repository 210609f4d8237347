/** The kinds of checks (protocol.md §8): their form in a policy, normalisation and evaluation. */
import { z } from 'zod';
import { gitRefSchema, idSchema } from '../../values/schemas.ts';
import { globSchema } from '../glob.ts';
import { remainingStepsMessage } from '../plan.ts';
import {
  type Check,
  type CheckForm,
  type CheckKind,
  type CheckScope,
  findingFor,
  type GroupOutcome,
  type Kind,
} from './check.ts';
import { type Feedback, passedRules, rulesSchema, type Validation } from './check-result.ts';
import { ranCheck } from './ran.ts';

/** `all: [...]`: every member must pass. A policy's list of checks is evaluated in the same way. */
const allCheck: CheckKind<'all'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'all', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAll(check.of, scope),
};

/**
 * Evaluates the checks in order, up to the first that fails, escalates or is awaited. If there is none, returns the
 * first error, or a pass.
 */
export function evaluateAll(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  let worst: GroupOutcome = { kind: 'pass' };
  for (const check of checks) {
    const outcome = scope.evaluate(check, scope);
    if (outcome.kind === 'fail' || outcome.kind === 'escalate' || outcome.kind === 'awaits') return outcome;
    if (outcome.kind === 'error' && worst.kind === 'pass') worst = outcome;
  }
  return worst;
}

/** `any: [...]`: one member must pass. */
const anyCheck: CheckKind<'any'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'any', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAny(check.of, scope),
};

/**
 * Ignores skipped members, and members whose error is allowed. If no others are left, the group passes or is an error.
 */
function evaluateAny(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  const failures: string[] = [];
  // Only used if the whole group does not pass.
  const feedback: Feedback[] = [];
  let error: GroupOutcome | null = null;
  for (const check of checks) {
    const outcome = scope.evaluate(check, { ...scope, feedback });
    if (outcome.kind === 'pass' || outcome.kind === 'awaits') return outcome;
    if (outcome.kind === 'warn') {
      scope.feedback.push(...feedback.filter((item) => item.outcome === 'warn'));
      return { kind: 'pass' };
    }
    if (outcome.kind === 'escalate') {
      scope.feedback.push(...feedback);
      return outcome;
    }
    if (outcome.kind === 'error') error ??= outcome;
    if (outcome.kind === 'fail') failures.push(outcome.message);
  }
  scope.feedback.push(...feedback);
  if (failures.length > 0) return { kind: 'fail', message: noneHoldsMessage(failures), feedback: null };
  return error ?? { kind: 'pass' };
}

/** Joins the messages of alternatives that all failed. */
export const noneHoldsMessage = (failures: readonly string[]): string => failures.join('; or ');

/** `command: name`: a command from the runner's configuration must succeed. */
const commandCheck: CheckKind<'command'> = {
  form: () => idSchema.optional().describe("a command of the runner's own configuration"),
  normalize: (command) => ({ kind: 'command', command }),
  defaultName: (command) => command,
  evaluate: (check) => ({ kind: 'awaits', check }),
};

/** `files: [...]`: these paths must exist under the worker's folder. A runner checks this. */
const filesCheck: CheckKind<'files'> = {
  form: () => z.array(z.string().min(1)).min(1).optional().describe("paths that must exist under the worker's folder"),
  normalize: (files) => ({ kind: 'files', files }),
  evaluate: (check) => ({ kind: 'awaits', check }),
};

/** The fixed text of protocol.md §5, used by the runner. */
export const missingFilesMessage = (files: readonly string[]): string => `Missing required files: ${files.join(', ')}`;

/** Limited because each is matched against each path in the repository. */
const unchangedMax = 64;

/**
 * `git: { clean, pushed, unchanged, since }`: the worker's repository must have nothing uncommitted, nothing unpushed,
 * or no changes to some files. A runner checks this.
 */
const gitCheck: CheckKind<'git'> = {
  form: (object) =>
    object({
      clean: z.boolean().optional().describe('nothing is uncommitted or untracked'),
      pushed: z.boolean().optional().describe('nothing is ahead of the upstream'),
      unchanged: z
        .array(globSchema)
        .min(1)
        .max(unchangedMax)
        .optional()
        .describe('globs of files, from the root of the repository, that must not change'),
      since: gitRefSchema
        .optional()
        .describe('the commit, branch or tag to compare with; default: the merge base with the upstream, or HEAD'),
    })
      .refine(
        ({ clean, pushed, unchanged }) => clean === true || pushed === true || unchanged !== undefined,
        'git needs clean: true, pushed: true or unchanged: [globs]',
      )
      .refine(
        ({ unchanged, since }) => since === undefined || unchanged !== undefined,
        'since needs unchanged: [globs]',
      )
      .optional()
      .describe("the state of the repository in the worker's folder"),
  normalize: ({ clean = false, pushed = false, unchanged = [], since = null }) => ({
    kind: 'git',
    clean,
    pushed,
    unchanged,
    since,
  }),
  evaluate: (check) => ({ kind: 'awaits', check }),
};

/** `plan: {}`: every step of the worker's plan must be done. With `required: true`, there must be at least one. */
const planCheck: CheckKind<'plan'> = {
  form: (object) =>
    object({ required: z.boolean().optional().describe('an empty plan fails') })
      .nullable()
      .optional()
      .describe('every step of the plan is done'),
  // An empty `plan:` in YAML is null.
  normalize: (value: CheckForm['plan']) => ({ kind: 'plan', required: value?.required ?? false }),
  evaluate: (check, { facts: { plan } }) =>
    findingFor(check, check.required && plan.length === 0 ? 'No plan yet' : remainingStepsMessage(plan)),
};

/** `remote: name`: a client that serves the check's subject answers. */
const remoteCheck: CheckKind<'remote'> = {
  form: () => idSchema.optional().describe('asks stopgate.<fleet>.check.<name>'),
  normalize: (remote) => ({ kind: 'remote', remote }),
  defaultName: (remote) => remote,
  evaluate: (check) => ({ kind: 'awaits', check }),
};

/** `rules: [...]`: the attempt must have reported each of these rules as passed. */
const rulesCheck: CheckKind<'rules'> = {
  form: () => rulesSchema.min(1).optional().describe("rules that the attempt's validation must report as passed"),
  normalize: (rules) => ({ kind: 'rules', rules }),
  evaluate: (check, { facts }) => findingFor(check, failedRulesMessage(check.rules, facts.validation)),
};

/** Names the failed rules in the policy's order. Unreported rules count as failed. */
function failedRulesMessage(rules: readonly string[], validation: Validation): string | null {
  const passed = passedRules(validation);
  const failed = rules.filter((rule) => !passed.has(rule));
  return failed.length === 0 ? null : `Failed rules: ${failed.join(', ')}`;
}

/** All kinds, in the order in which messages list them. A missing kind is a compile error. */
export const checkKinds: { readonly [K in Kind]: CheckKind<K> } = {
  plan: planCheck,
  rules: rulesCheck,
  ran: ranCheck,
  files: filesCheck,
  git: gitCheck,
  command: commandCheck,
  remote: remoteCheck,
  all: allCheck,
  any: anyCheck,
};
