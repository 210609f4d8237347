/**
 * Guard 8: does every check of the policy hold? (protocol 5 and 8; seed 000, Composite Validator; seed 002,
 * CompositeChecker.) Plan and rules are answered here; files, commands and remote checks are asked for, one after the
 * other, and answered by entries. What was answered once is kept in `findings` and not asked again.
 */

import { formatDuration } from '../values/duration.ts';
import type { CheckResult, Feedback } from './checks/check-result.ts';
import type { Validation } from './checks/rules.ts';
import { type Circumstances, holds } from './condition.ts';
import { type Plan, remainingWords } from './plan.ts';
import type { Check, EffectfulCheck } from './policy.ts';

export const checkTimeoutMs = 120_000;

/** `error`: it could not be answered, and its `onError` lets that pass. `entered`: a group whose `when` held. */
export type Finding =
  | { readonly is: 'pass' | 'skip' | 'entered' }
  | { readonly is: 'fail' | 'error' | 'escalate'; readonly words: string; readonly feedback: Feedback | null };
export type Findings = Record<string, Finding>;
type Answer = Finding | { readonly is: 'ask'; readonly check: EffectfulCheck };

export type CheckFacts = Circumstances & { readonly plan: Plan; readonly validation: Validation };

export type ChecksAnswer = {
  readonly is: 'pass' | 'fail' | 'error' | 'escalate' | 'ask';
  readonly words: string;
  readonly check: EffectfulCheck | null;
  readonly feedback: readonly Feedback[];
};

/** Asks the checks in order. `findings` is filled in place: give a copy of those of the attempt. */
export function askChecks(checks: readonly Check[], facts: CheckFacts, findings: Findings): ChecksAnswer {
  const feedback: Feedback[] = [];
  const answer = askAll(checks, facts, findings, feedback);
  const words = 'words' in answer ? answer.words : '';
  const is = answer.is === 'skip' || answer.is === 'entered' ? 'pass' : answer.is;
  return { is, words, check: answer.is === 'ask' ? answer.check : null, feedback };
}

/** What an answer from outside means for its check. */
export function findingOf(check: EffectfulCheck, result: CheckResult): Finding {
  const { outcome } = result;
  if (outcome === 'pass') return { is: 'pass' };
  const words = result.reason ?? fallbackWords(check, outcome);
  const feedback = { check: check.name, outcome, message: words, details: result.feedback ?? {} };
  if (outcome === 'fail') return { is: 'fail', words, feedback };
  const is = check.onError === 'block' ? 'fail' : check.onError === 'escalate' ? 'escalate' : 'error';
  return { is, words, feedback };
}

function fallbackWords(check: EffectfulCheck, outcome: 'fail' | 'error' | 'timeout'): string {
  if (outcome === 'fail') return `Check ${check.name} failed`;
  if (outcome === 'error') return `Check ${check.name} could not be run`;
  return `Check ${check.name} gave no answer within ${formatDuration(check.timeoutMs ?? checkTimeoutMs)}`;
}

function ask(check: Check, facts: CheckFacts, findings: Findings, feedback: Feedback[]): Answer {
  // By its own key: a check may be named `constructor`.
  const known = Object.hasOwn(findings, check.name) ? findings[check.name] : undefined;
  if (known !== undefined && known.is !== 'entered') return note(known, feedback);
  if (known === undefined && !holds(check.when, facts)) {
    findings[check.name] = { is: 'skip' };
    return { is: 'skip' };
  }
  if (check.kind === 'all' || check.kind === 'any') {
    findings[check.name] = { is: 'entered' };
    return (check.kind === 'all' ? askAll : askAny)(check.of, facts, findings, feedback);
  }
  if (check.kind !== 'plan' && check.kind !== 'rules') return { is: 'ask', check };
  const words = check.kind === 'plan' ? remainingWords(facts.plan) : failedRuleWords(check.rules, facts.validation);
  const finding: Finding =
    words === null
      ? { is: 'pass' }
      : { is: 'fail', words, feedback: { check: check.name, outcome: 'fail', message: words, details: {} } };
  findings[check.name] = finding;
  return note(finding, feedback);
}

function note(finding: Finding, feedback: Feedback[]): Finding {
  if ('feedback' in finding && finding.feedback !== null) feedback.push(finding.feedback);
  return finding;
}

/** All must pass: the first failure's words. */
function askAll(checks: readonly Check[], facts: CheckFacts, findings: Findings, feedback: Feedback[]): Answer {
  let worst: Answer = { is: 'pass' };
  for (const check of checks) {
    const answer = ask(check, facts, findings, feedback);
    if (answer.is === 'fail' || answer.is === 'escalate' || answer.is === 'ask') return answer;
    if (answer.is === 'error' && worst.is === 'pass') worst = answer;
  }
  return worst;
}

/** One must pass; members that are skipped or let pass in error are left out, and with none left it passes. */
function askAny(checks: readonly Check[], facts: CheckFacts, findings: Findings, feedback: Feedback[]): Answer {
  const failed: string[] = [];
  const said: Feedback[] = [];
  let error: Answer | null = null;
  for (const check of checks) {
    const answer = ask(check, facts, findings, said);
    if (answer.is === 'pass') return answer;
    if (answer.is === 'ask') return answer;
    if (answer.is === 'escalate') {
      feedback.push(...said);
      return answer;
    }
    if (answer.is === 'error') error ??= answer;
    if (answer.is === 'fail') failed.push(answer.words);
  }
  feedback.push(...said);
  if (failed.length > 0) return { is: 'fail', words: anyWords(failed), feedback: null };
  return error ?? { is: 'pass' };
}

/** Of conditions of which one had to hold, and none did. */
export const anyWords = (failed: readonly string[]): string => failed.join('; or ');

export const missingFilesWords = (files: readonly string[]): string => `Missing required files: ${files.join(', ')}`;

/** In the policy's order; a rule that the attempt did not report has failed. */
function failedRuleWords(rules: readonly string[], validation: Validation): string | null {
  const passed = new Set(validation.filter((it) => it.passed).map((it) => it.rule));
  for (const it of validation) if (!it.passed) passed.delete(it.rule);
  const failed = rules.filter((rule) => !passed.has(rule));
  return failed.length === 0 ? null : `Failed rules: ${failed.join(', ')}`;
}
