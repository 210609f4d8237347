/** What if: decides recent attempts again with other policies, before they take effect. Nothing is run. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { WhatIfAnswer } from '../../messages.ts';
import { ApiError, askPatiently, fleet, get, type Progress } from '../data/api.ts';
import { FoldProgress } from '../ui/progress.tsx';
import { Differences } from './differences.tsx';
import { type PolicyProblem, PolicyProblems } from './policy-problems.tsx';

const textKey = 'stopgate.policy';
const attemptsMax = 10_000;
const text = signal(sessionStorage.getItem(textKey) ?? '');
const last = signal(200);
const busy = signal(false);
const progress = signal<Progress | null>(null);
let comparison = new AbortController();
const answer = signal<WhatIfAnswer | null>(null);
const problem = signal<PolicyProblem | null>(null);

export function WhatIf() {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (text.peek() === '' && fleet.value !== '') void loadPolicies();
  }, [fleet.value]);
  return (
    <section class="what-if" aria-label="What if">
      <h2>What if?</h2>
      <p class="muted">
        Change the policies below to see which recent stops would have been decided differently, and by which guard.
        Nothing is run and nothing takes effect: check results are taken from the log.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void compare();
        }}
      >
        <label for="policy">Policies, as in stopgate.yaml</label>
        <textarea
          id="policy"
          ref={area}
          rows={14}
          spellcheck={false}
          value={text.value}
          aria-invalid={problem.value !== null && problem.value.issues.length > 0}
          aria-describedby="policy-problems"
          onInput={(event) => {
            text.value = event.currentTarget.value;
            sessionStorage.setItem(textKey, text.value);
          }}
        />
        <div id="policy-problems" role="alert">
          {problem.value !== null && <PolicyProblems problem={problem.value} area={area} />}
        </div>
        <Buttons />
      </form>
      <div aria-live="polite">{answer.value !== null && <Differences answer={answer.value} />}</div>
    </section>
  );
}

const Buttons = () => (
  <p class="buttons">
    <button type="submit" class="primary" disabled={busy.value}>
      {busy.value ? 'Comparing…' : 'Compare'}
    </button>
    {progress.value !== null && <FoldProgress progress={progress.value} cancel={() => comparison.abort()} />}
    <label class="inline">
      the last{' '}
      <input
        type="number"
        min={1}
        max={attemptsMax}
        value={last.value}
        onInput={(event) => {
          last.value = Math.max(1, Math.min(attemptsMax, Number(event.currentTarget.value) || 1));
        }}
      />{' '}
      attempts
    </label>
    <button type="button" onClick={() => void loadPolicies()}>
      Load current policies
    </button>
  </p>
);

async function loadPolicies(): Promise<void> {
  try {
    text.value = (await get<{ text: string }>('policy')).text;
    problem.value = null;
  } catch (error) {
    problem.value = { message: (error as Error).message, issues: [] };
  }
}

async function compare(): Promise<void> {
  busy.value = true;
  problem.value = null;
  try {
    comparison = new AbortController();
    const question = { policy: text.value, last: last.value };
    answer.value = await askPatiently<WhatIfAnswer>('what-if', question, comparison.signal, (it) => {
      progress.value = it;
    });
  } catch (error) {
    if (!comparison.signal.aborted) answer.value = null;
    if (!comparison.signal.aborted)
      problem.value = { message: (error as Error).message, issues: error instanceof ApiError ? error.issues : [] };
  }
  busy.value = false;
  progress.value = null;
}
