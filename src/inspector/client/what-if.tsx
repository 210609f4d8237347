/** What if: other policies over the attempts that were, before they are put in force. Nothing is run again. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { WhatIfAnswer, WhatIfDifference } from '../what-if.ts';
import { ApiError, fleet, get, type Issue, post } from './api.ts';
import { DecisionCard } from './decision.tsx';
import { AnswerMark } from './marks.tsx';
import { follow, hrefOf } from './place.ts';
import { count, dateTime, plural } from './terms.ts';
import { Name, Text } from './text.tsx';

const textKey = 'stopgate.policy';
const text = signal(sessionStorage.getItem(textKey) ?? '');
const last = signal(200);
const busy = signal(false);
const answer = signal<WhatIfAnswer | null>(null);
const problem = signal<{ message: string; issues: readonly Issue[] } | null>(null);

export function WhatIf() {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (text.peek() === '' && fleet.value !== '') void readPolicy();
  }, [fleet.value]);
  return (
    <section class="what-if" aria-label="What if">
      <h2>What if?</h2>
      <p class="muted">
        Change the policies below and see which of the last stops would have been answered differently, and by which
        guard. Nothing is run and nothing is put in force: results of checks are those that the log holds.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
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
          {problem.value !== null && <Problems {...problem.value} area={area.current} />}
        </div>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy.value}>
            {busy.value ? 'Comparing…' : 'Compare'}
          </button>
          <label class="inline">
            the last{' '}
            <input
              type="number"
              min={1}
              max={10_000}
              value={last.value}
              onInput={(event) => {
                last.value = Math.max(1, Math.min(10_000, Number(event.currentTarget.value) || 1));
              }}
            />{' '}
            attempts
          </label>
          <button type="button" onClick={() => void readPolicy()}>
            Policies in force
          </button>
        </p>
      </form>
      <div aria-live="polite">{answer.value !== null && <Answer answer={answer.value} />}</div>
    </section>
  );
}

async function readPolicy(): Promise<void> {
  try {
    text.value = (await get<{ text: string }>('policy')).text;
    problem.value = null;
  } catch (error) {
    problem.value = { message: (error as Error).message, issues: [] };
  }
}

async function ask(): Promise<void> {
  busy.value = true;
  problem.value = null;
  try {
    answer.value = await post<WhatIfAnswer>('what-if', { policy: text.value, last: last.value });
  } catch (error) {
    answer.value = null;
    problem.value = { message: (error as Error).message, issues: error instanceof ApiError ? error.issues : [] };
  }
  busy.value = false;
}

function Problems({
  message,
  issues,
  area,
}: {
  message: string;
  issues: readonly Issue[];
  area: HTMLTextAreaElement | null;
}) {
  if (issues.length === 0) return <p class="problem">{message}</p>;
  const jump = (line: number, column: number) => {
    if (area === null) return;
    const lines = area.value.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0) + column - 1;
    area.focus();
    area.setSelectionRange(start, start + 1);
  };
  return (
    <ul class="problem plain">
      {issues.map(({ line = 1, column = 1, path, message: words }, index) => (
        <li key={index}>
          <button type="button" class="link" onClick={() => jump(line, column)}>
            line {line}, column {column}
          </button>{' '}
          {path !== '' && <code>{path}</code>} <Text value={words} />
        </li>
      ))}
    </ul>
  );
}

function Answer({ answer: { looked, unknown, differ, more, tookMs } }: { answer: WhatIfAnswer }) {
  const different = differ.filter((it) => it.after !== null).length;
  return (
    <section class="differences" aria-label="Differences">
      <h3>
        {plural(looked, 'attempt')} looked at:{' '}
        {different === 0 && unknown === 0 ? 'none' : count(different + (more > 0 ? more : 0))} would differ
        {unknown > 0 && `, ${count(unknown)} cannot be told`} <span class="muted">({Math.round(tookMs)} ms)</span>
      </h3>
      {looked === 0 && <p class="muted">The log has no decided attempts yet. Let an agent try to stop first.</p>}
      <ul class="plain">
        {[...differ].reverse().map((it) => (
          <Difference key={`${it.worker}:${it.attempt}`} it={it} />
        ))}
      </ul>
      {more > 0 && (
        <p class="muted">and {count(more)} before these; see “stopgate replay --fleet F --policy new.yaml --diff”</p>
      )}
    </section>
  );
}

function Difference({ it }: { it: WhatIfDifference }) {
  const { worker, at, seq, before, after, check, guards } = it;
  return (
    <li class="difference" data-worker={worker}>
      <details>
        <summary>
          <Name value={worker} />
          <span class="muted">{dateTime(Date.parse(at))}</span>
          <span class="change">
            <AnswerMark decision={before} />
            <span aria-hidden="true">→</span>
            <span class="sr-only">becomes</span>
            {after === null ? (
              <span class="tag">
                {check === null
                  ? 'cannot be told: it would still be held'
                  : `cannot be told: the log has no answer of ${check.slice(0, 60)}`}
              </span>
            ) : (
              <AnswerMark decision={after} />
            )}
          </span>
          {after !== null && (
            <span class="guard-change muted">
              guard {guards[0] ?? 'none'}
              {guards[0] !== guards[1] && ` → ${guards[1] ?? 'none'}`}
            </span>
          )}
        </summary>
        <div class="before-after">
          <div>
            <h4>
              Before{' '}
              {seq !== null && (
                <a
                  href={hrefOf({ view: 'workers', worker, task: null, at: seq })}
                  onClick={(event) => follow(event, { view: 'workers', worker, task: null, at: seq })}
                >
                  see it there
                </a>
              )}
            </h4>
            <DecisionCard decision={before} label="Before" />
          </div>
          {after !== null && (
            <div>
              <h4>After</h4>
              <DecisionCard decision={after} label="After" />
            </div>
          )}
        </div>
      </details>
    </li>
  );
}
