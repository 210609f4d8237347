/**
 * Defines a check: as a policy writes it, in its normal form, and the result of evaluating it. Each kind has a file
 * beside this one.
 */
import type { z } from 'zod';
import type { ObjectMaker } from '../../values/schemas.ts';
import type { Evidence } from '../commands.ts';
import type { Circumstances, Condition } from '../condition.ts';
import type { Plan } from '../plan.ts';
import { type Feedback, noDetails, type Validation } from './check-result.ts';

export const checkTimeoutMs = 120_000;

export type OnError = 'allow' | 'block' | 'escalate';
/** `warn`: a failure blocks nobody, and is listed. */
export type OnFail = 'block' | 'warn';

/** A check as a policy writes it: exactly one of the kinds, and its settings. */
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
  judge?:
    | {
        prompt: string;
        model: string;
        api?: JudgeApi | undefined;
        endpoint?: string | undefined;
        keyEnv?: string | undefined;
        since?: string | undefined;
      }
    | undefined;
  all?: CheckForm[] | undefined;
  any?: CheckForm[] | undefined;
  name?: string | undefined;
  when?: Condition | undefined;
  onFail?: OnFail | undefined;
  onError?: OnError | undefined;
  timeout?: number | undefined;
};

/** `base`: its name without the number that tells it from others. `timeoutMs` is how long its answer may take; null: 120 s. A member takes `onError` and `timeout` from its group. */
export type CheckSettings = {
  readonly name: string;
  readonly base: string;
  readonly when: Condition | null;
  readonly onFail: OnFail;
  /** `warn`: it only warns, and its error has no consequence of its own. */
  readonly onError: OnError | 'warn';
  readonly timeoutMs: number | null;
};
/** `unchanged`: globs of files that must be as in `since`, a ref; null: as in the merge base with the upstream. */
export type GitAspects = {
  readonly clean: boolean;
  readonly pushed: boolean;
  readonly unchanged: readonly string[];
  readonly since: string | null;
};
/** What a command must have run after. */
export type RanSince = 'change' | 'prompt' | 'claim';
/** OpenAI's chat completions, which most servers of models speak, or Anthropic's messages. */
export type JudgeApi = 'openai' | 'anthropic';
/**
 * `endpoint`: the whole URL of the request. `keyEnv`: the variable of the runner that holds the key; null: none is sent.
 * `since`: the ref from which on changes are shown; null: the merge base with the upstream.
 */
export type JudgeFields = {
  readonly prompt: string;
  readonly model: string;
  readonly api: JudgeApi;
  readonly endpoint: string;
  readonly keyEnv: string | null;
  readonly since: string | null;
};
type CheckFields =
  | { readonly kind: 'plan'; readonly required: boolean }
  | { readonly kind: 'rules'; readonly rules: readonly string[] }
  | { readonly kind: 'ran'; readonly commands: readonly string[]; readonly since: RanSince }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  | ({ readonly kind: 'git' } & GitAspects)
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'remote'; readonly remote: string }
  | ({ readonly kind: 'judge' } & JudgeFields)
  | { readonly kind: 'all'; readonly of: readonly Check[] }
  | { readonly kind: 'any'; readonly of: readonly Check[] };
export type Kind = CheckFields['kind'];

/** The normal form: defaults filled in, every check with a name of its own within the policy. */
export type Check = CheckSettings & CheckFields;
export type CheckOf<K extends Kind> = Extract<Check, { kind: K }>;
/** Checks that a replica runs, and an entry answers; the fold evaluates all others. */
export type EffectfulCheck = CheckOf<'files' | 'git' | 'command' | 'remote' | 'judge'>;

export type CheckFacts = Circumstances & Evidence & { readonly plan: Plan; readonly validation: Validation };

/**
 * A finding is what is known of a check. `error`: it could not be judged, and its `onError` lets that pass; `warn`: it
 * did not pass, and blocks nobody; `entered`: a group whose `when` held, and which is evaluated each time.
 */
export type Finding =
  | { readonly kind: 'pass' }
  | { readonly kind: 'skip' }
  | { readonly kind: 'entered' }
  | ({ readonly kind: 'fail' | 'error' | 'escalate' } & Found)
  | ({ readonly kind: 'warn' } & Found);
type Found = {
  readonly message: string;
  /** Null for a group: its members have the feedback. */
  readonly feedback: Feedback | null;
};
export type Findings = Record<string, Finding>;
export type CheckOutcome = Finding | { readonly kind: 'pending'; readonly check: EffectfulCheck };
/** The outcome of several checks together. */
export type GroupOutcome = Exclude<CheckOutcome, { kind: 'skip' | 'entered' | 'warn' }>;

/** One evaluation of a policy's checks. */
export type CheckScope = {
  readonly facts: CheckFacts;
  /** The findings by name. An answer stays here; evaluation adds to it. */
  readonly findings: Findings;
  /** The feedback of the checks that did not pass, in order. */
  readonly feedback: Feedback[];
  readonly evaluate: (check: Check, scope: CheckScope) => CheckOutcome;
  /** The finding of a check that could not be judged: by its `onError`. */
  readonly errorOf: (check: CheckSettings, message: string) => Finding;
};

/** Everything that is known of one kind of check. */
export type CheckKind<K extends Kind> = {
  /** The schema of the value under the kind's name in a policy. `member`: that of a check within a group. */
  readonly form: (object: ObjectMaker, member: z.ZodType<CheckForm>) => z.ZodType<CheckForm[K]>;
  readonly normalize: (
    value: NonNullable<CheckForm[K]>,
    member: (form: CheckForm) => Check,
  ) => Extract<CheckFields, { kind: K }>;
  /** The name of a check that has none in its policy; default: the name of its kind. */
  readonly defaultName?: (value: NonNullable<CheckForm[K]>) => string;
  readonly evaluate: (check: CheckOf<K>, scope: CheckScope) => CheckOutcome;
};

/** The finding of a check that the fold evaluates itself. `failure`: its message; null: it passed. */
export function findingFor(check: CheckSettings, failure: string | null): Finding {
  if (failure === null) return { kind: 'pass' };
  const feedback: Feedback = { check: check.name, outcome: 'fail', message: failure, details: noDetails };
  return soften(check, { kind: 'fail', message: failure, feedback });
}

/** Turns a failure into a warning if the check only warns. */
export function soften({ name, onFail }: CheckSettings, finding: Finding): Finding {
  if (onFail === 'block' || finding.kind !== 'fail') return finding;
  const { message, feedback } = finding;
  return {
    kind: 'warn',
    message,
    feedback: { check: name, outcome: 'warn', message, details: feedback?.details ?? noDetails },
  };
}
