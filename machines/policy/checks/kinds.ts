/** The kinds of checks (protocol.md §8): how each is written in a policy, read and evaluated. */
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

/** `all: [...]`: every member passes. A policy's own list of checks is evaluated in the same way. */
const allCheck: CheckKind<'all'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'all', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAll(check.of, scope),
};

/**
 * Evaluates the checks in order, up to the first that fails, escalates or is pending. The first error is reported only
 * if none does.
 */
export function evaluateAll(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  let worst: GroupOutcome = { kind: 'pass' };
  for (const check of checks) {
    const outcome = scope.evaluate(check, scope);
    if (outcome.kind === 'fail' || outcome.kind === 'escalate' || outcome.kind === 'pending') return outcome;
    if (outcome.kind === 'error' && worst.kind === 'pass') worst = outcome;
  }
  return worst;
}

/** `any: [...]`: one member passes. */
const anyCheck: CheckKind<'any'> = {
  form: (_object, member) => z.array(member).min(1).optional(),
  normalize: (members, member) => ({ kind: 'any', of: members.map(member) }),
  evaluate: (check, scope) => evaluateAny(check.of, scope),
};

/** Members that are skipped, or in error and let pass, are left out; with none left it passes. */
function evaluateAny(checks: readonly Check[], scope: CheckScope): GroupOutcome {
  const failures: string[] = [];
  // Counts only if the whole group does not pass.
  const feedback: Feedback[] = [];
  let error: GroupOutcome | null = null;
  for (const check of checks) {
    const outcome = scope.evaluate(check, { ...scope, feedback });
    if (outcome.kind === 'pass' || outcome.kind === 'pending') return outcome;
    if (outcome.kind === 'warn') {
      scope.feedback.push(...feedback.filter((it) => it.outcome === 'warn'));
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

/** The message for conditions of which one had to hold. */
export const noneHoldsMessage = (failures: readonly string[]): string => failures.join('; or ');

/** `command: name`: a command of the runner's own configuration succeeds. */
const commandCheck: CheckKind<'command'> = {
  form: () => idSchema.optional().describe("a command of the runner's own configuration"),
  normalize: (command) => ({ kind: 'command', command }),
  defaultName: (command) => command,
  evaluate: (check) => ({ kind: 'pending', check }),
};

/** `files: [...]`: these paths exist under the worker's folder. A runner checks. */
const filesCheck: CheckKind<'files'> = {
  form: () => z.array(z.string().min(1)).min(1).optional().describe("paths that must exist under the worker's folder"),
  normalize: (files) => ({ kind: 'files', files }),
  evaluate: (check) => ({ kind: 'pending', check }),
};

/** The fixed text of protocol.md §5, for the runner. */
export const missingFilesMessage = (files: readonly string[]): string => `Missing required files: ${files.join(', ')}`;

/** Each is matched against each name in the repository. */
const unchangedMax = 64;

/**
 * `git: { clean, pushed, unchanged, since }`: the worker's repository has nothing uncommitted, nothing unpushed, and some
 * files are as they were. A runner checks.
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
        .describe(
          'the commit, branch or tag that they are compared with; default: the merge base with the upstream, else HEAD',
        ),
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
  evaluate: (check) => ({ kind: 'pending', check }),
};

/** `plan: {}`: every step of the worker's plan is done. `plan: { required: true }`: and it has steps. */
const planCheck: CheckKind<'plan'> = {
  form: (object) =>
    object({ required: z.boolean().optional().describe('an empty plan fails') })
      .nullable()
      .optional()
      .describe('every step of the plan is done'),
  // `plan:` with nothing behind it is null.
  normalize: (value: CheckForm['plan']) => ({ kind: 'plan', required: value?.required ?? false }),
  evaluate: (check, { facts: { plan } }) =>
    findingFor(check, check.required && plan.length === 0 ? 'No plan yet' : remainingStepsMessage(plan)),
};

/** `remote: name`: a client that serves the check's subject answers. */
const remoteCheck: CheckKind<'remote'> = {
  form: () => idSchema.optional().describe('asks stopgate.<fleet>.check.<name>'),
  normalize: (remote) => ({ kind: 'remote', remote }),
  defaultName: (remote) => remote,
  evaluate: (check) => ({ kind: 'pending', check }),
};

/** `rules: [...]`: the attempt reported each of these rules as passed. */
const rulesCheck: CheckKind<'rules'> = {
  form: () => rulesSchema.min(1).optional().describe("of the attempt's validation"),
  normalize: (rules) => ({ kind: 'rules', rules }),
  evaluate: (check, { facts }) => findingFor(check, failedRulesMessage(check.rules, facts.validation)),
};

/** Names the failed rules in the policy's order; a rule that the attempt did not report has failed. */
function failedRulesMessage(rules: readonly string[], validation: Validation): string | null {
  const passed = passedRules(validation);
  const failed = rules.filter((rule) => !passed.has(rule));
  return failed.length === 0 ? null : `Failed rules: ${failed.join(', ')}`;
}

/** The kinds of checks, in the order in which messages list them. A kind without a row does not compile. */
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
