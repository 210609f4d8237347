/**
 * Types of checks: the form in a policy, the normal form, and the findings of an evaluation. The kinds are in
 * `kinds.ts`.
 */
import type { z } from 'zod';
import type { ObjectMaker } from '../../values/schemas.ts';
import type { Evidence } from '../commands.ts';
import type { Circumstances, Condition } from '../condition.ts';
import type { Plan } from '../plan.ts';
import { type Feedback, noDetails, type Validation } from './check-result.ts';

export const checkTimeoutMs = 120_000;

type OnError = 'allow' | 'block' | 'escalate';
/** `warn`: a failure does not block, but is listed in the feedback. */
type OnFail = 'block' | 'warn';

/** The form in a policy: exactly one of the kinds, plus settings. */
export type CheckForm = {
  plan?: { required?: boolean | undefined } | null | undefined;
  rules?: string[] | undefined;
  ran?: string | { command: string | string[]; since?: RanSince | undefined } | undefined;
  files?: string[] | undefined;
  git?:
    | {
        clean?: boolean | undefined;
        pushed?: boolean | undefined;
        unchanged?: string[] | undefined;
        since?: string | undefined;
      }
    | undefined;
  command?: string | undefined;
  remote?: string | undefined;
  all?: CheckForm[] | undefined;
  any?: CheckForm[] | undefined;
  name?: string | undefined;
  when?: Condition | undefined;
  onFail?: OnFail | undefined;
  onError?: OnError | undefined;
  timeout?: number | undefined;
};

/**
 * `base`: the name without the number that makes it unique. `timeoutMs`: time limit for the answer; null is 120 s.
 * Members inherit `onError` and `timeoutMs` from their group.
 */
export type CheckSettings = {
  readonly name: string;
  readonly base: string;
  readonly when: Condition | null;
  readonly onFail: OnFail;
  /** `warn`: an error only warns, because the check only warns. */
  readonly onError: OnError | 'warn';
  readonly timeoutMs: number | null;
};
/** `unchanged`: globs of files that must equal those in the ref `since`; null is the merge base with the upstream. */
export type GitAspects = {
  readonly clean: boolean;
  readonly pushed: boolean;
  readonly unchanged: readonly string[];
  readonly since: string | null;
};
/** The event after which a command must have run. */
export type RanSince = 'change' | 'prompt' | 'claim';
type CheckFields =
  | { readonly kind: 'plan'; readonly required: boolean }
  | { readonly kind: 'rules'; readonly rules: readonly string[] }
  | { readonly kind: 'ran'; readonly commands: readonly string[]; readonly since: RanSince }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | ({ readonly kind: 'git' } & GitAspects)
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'remote'; readonly remote: string }
  | { readonly kind: 'all'; readonly of: readonly Check[] }
  | { readonly kind: 'any'; readonly of: readonly Check[] };
export type Kind = CheckFields['kind'];

/** The normal form: defaults filled in, every check with a name that is unique in the policy. */
export type Check = CheckSettings & CheckFields;
export type CheckOf<K extends Kind> = Extract<Check, { kind: K }>;
/** Checks that inspect the work itself: a replica runs them and an entry answers. The fold evaluates all others. */
const effectfulKinds = ['files', 'git', 'command', 'remote'] as const satisfies readonly Kind[];
export type EffectfulCheck = CheckOf<(typeof effectfulKinds)[number]>;
export const isEffectful = (check: Check): check is EffectfulCheck =>
  (effectfulKinds as readonly Kind[]).includes(check.kind);

export type CheckFacts = Circumstances & Evidence & { readonly plan: Plan; readonly validation: Validation };

/**
 * The result of a check so far. `error`: it could not be judged, and its `onError` allows that. `warn`: it did not
 * pass, but does not block. `entered`: a group whose `when` held; its members are evaluated each time.
 */
export type CheckFinding =
  | { readonly kind: 'pass' }
  | { readonly kind: 'skip' }
  | { readonly kind: 'entered' }
  | ({ readonly kind: 'fail' | 'error' | 'escalate' } & Report)
  | ({ readonly kind: 'warn' } & Report);
type Report = {
  readonly message: string;
  /** Null for a group, whose members have the feedback. */
  readonly feedback: Feedback | null;
};
export type Findings = Record<string, CheckFinding>;
export type CheckOutcome = CheckFinding | { readonly kind: 'awaits'; readonly check: EffectfulCheck };
/** The combined outcome of several checks. */
export type GroupOutcome = Exclude<CheckOutcome, { kind: 'skip' | 'entered' | 'warn' }>;

/** One evaluation of a policy's checks. */
export type CheckScope = {
  readonly facts: CheckFacts;
  /** The findings by name of the check. Evaluation adds to them. */
  readonly findings: Findings;
  /** The feedback of the checks that did not pass, in order. */
  readonly feedback: Feedback[];
  readonly evaluate: (check: Check, scope: CheckScope) => CheckOutcome;
  /** Returns the finding of a check that could not be judged, following its `onError`. */
  readonly errorOf: (check: CheckSettings, message: string) => CheckFinding;
};

/** The definition of one kind of check. */
export type CheckKind<K extends Kind> = {
  /** The schema of the value under the kind's name in a policy. `member`: the schema of checks within a group. */
  readonly form: (object: ObjectMaker, member: z.ZodType<CheckForm>) => z.ZodType<CheckForm[K]>;
  readonly normalize: (
    value: NonNullable<CheckForm[K]>,
    member: (form: CheckForm) => Check,
  ) => Extract<CheckFields, { kind: K }>;
  /** The name of an unnamed check. Default: the name of the kind. */
  readonly defaultName?: (value: NonNullable<CheckForm[K]>) => string;
  readonly evaluate: (check: CheckOf<K>, scope: CheckScope) => CheckOutcome;
};

/** Returns the finding of a check that the fold evaluates. `failure`: its message, or null if it passed. */
export function findingFor(check: CheckSettings, failure: string | null): CheckFinding {
  if (failure === null) return { kind: 'pass' };
  const feedback: Feedback = { check: check.name, outcome: 'fail', message: failure, details: noDetails };
  return soften(check, { kind: 'fail', message: failure, feedback });
}

/** Turns a failure into a warning if the check only warns. */
export function soften({ name, onFail }: CheckSettings, finding: CheckFinding): CheckFinding {
  if (onFail === 'block' || finding.kind !== 'fail') return finding;
  const { message, feedback } = finding;
  return {
    kind: 'warn',
    message,
    feedback: { check: name, outcome: 'warn', message, details: feedback?.details ?? noDetails },
  };
}
