/** The hook types that judge the reports of the attempt or iteration itself (seed 001, Stop Hooks). */
import type { HookForm } from '../../entries/task.ts';
import { passedRules } from '../../policy/checks/check-result.ts';
import type { PromiseName } from '../../policy/promise.ts';
import { answer, type HookAnswer, type HookFacts } from './hook.ts';

type PresetType = Exclude<HookForm['type'], 'remote' | 'all' | 'any'>;

type Preset = (facts: HookFacts, results: ReportedResults, form: HookForm) => HookAnswer;

export const presets: Readonly<Record<PresetType, Preset>> = {
  promise: (facts) =>
    byPromise(facts) ?? answer('continue', 'No completion promise detected', { nextPrompt: promptForPromise(facts) }),
  validation: (_facts, results) => results.answer() ?? answer('continue', 'No validation results'),
  default: (facts, results) => byPromise(facts) ?? results.answer() ?? answer('continue', 'Iteration in progress'),
  tdd: (_facts, { hasPassed }) =>
    hasPassed('tests_pass')
      ? answer('complete', 'All tests pass')
      : answer('continue', 'Tests still failing', { nextPrompt: 'Fix failing tests and run again' }),
  security: (facts, { hasPassed }) => {
    if (hasPassed('vulns_fixed') && hasPassed('sast_clean')) return answer('complete', 'All rules passed');
    return facts.iteration >= 10
      ? answer('escalate', 'Max iterations reached - complex vulnerabilities may require manual review')
      : answer('continue', 'Vulnerabilities remain');
  },
  checkpoint: (facts, _results, { metadata }) => {
    const dueIteration = typeof metadata?.at === 'number' ? metadata.at : 5;
    const isDue = facts.iteration === dueIteration;
    return answer('continue', isDue ? 'Checkpoint saved' : 'Iteration in progress', { checkpoint: isDue });
  },
};

/** Returns null if no promise counts in this iteration. */
function byPromise({ promises, current }: HookFacts): HookAnswer | null {
  const counts = (name: PromiseName) => promises.has(name) && (current?.completionPromises?.includes(name) ?? true);
  if (counts('COMPLETE')) return answer('complete', 'Agent signaled completion via <promise>COMPLETE</promise>');
  if (counts('ESCALATE')) return answer('escalate', 'Agent asked for a person via <promise>ESCALATE</promise>');
  return counts('BLOCKED') ? answer('escalate', 'Agent is blocked and said so via <promise>BLOCKED</promise>') : null;
}

/** Names the promise that the hook waits for: COMPLETE, unless the iteration only accepts others. */
function promptForPromise({ current }: HookFacts): string {
  const names = current?.completionPromises ?? ['COMPLETE'];
  const waitsFor = names.includes('COMPLETE') || names.length === 0 ? ['COMPLETE'] : names;
  const promises = waitsFor.map((name) => `<promise>${name}</promise>`).join(' or ');
  return `Finish the work. When it is done, end your answer with ${promises}`;
}

/** The reported results, computed once for all hooks of an evaluation. */
export type ReportedResults = {
  readonly hasPassed: (rule: string) => boolean;
  /** Returns null if no results were reported. */
  readonly answer: () => HookAnswer | null;
};

export function readResults(facts: HookFacts): ReportedResults {
  let passed: ReadonlySet<string> | null = null;
  let answered: HookAnswer | null | undefined;
  return {
    hasPassed(rule) {
      passed ??= passedRules(facts.validation);
      return passed.has(rule);
    },
    answer() {
      if (answered === undefined) answered = judgeValidation(facts);
      return answered;
    },
  };
}

/**
 * Returns null if no results were reported. If the iteration names rules, only those count, and unreported ones failed.
 */
function judgeValidation({ validation, current }: HookFacts): HookAnswer | null {
  const rules = current?.rules ?? null;
  const named = rules === null ? null : new Set(rules);
  const counted = named === null ? validation : validation.filter((result) => named.has(result.rule));
  if (counted.length === 0) return null;
  const reported = new Set(counted.map((result) => result.rule));
  const missing = (rules ?? []).filter((rule) => !reported.has(rule));
  const failed = [...new Set([...counted.filter((result) => !result.passed).map((result) => result.rule), ...missing])];
  if (failed.length === 0) return answer('complete', 'All rules passed');
  const feedback = counted
    .filter((result) => !result.passed)
    .map(({ rule, message }) => ({ rule, message: message ?? null }));
  const found = feedback.flatMap(({ rule, message }) => (message === null ? [] : [`- ${rule}: ${message}`]));
  return answer('continue', `Failed rules: ${failed.join(', ')}`, {
    nextPrompt: [`Fix the failed rules: ${failed.join(', ')}. Then validate again.`, ...found].join('\n'),
    metadata: () => ({ failedRules: failed, feedback }),
  });
}
