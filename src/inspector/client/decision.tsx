/** A decision, guard by guard: what each looked at, what it said, how long it took; and what the agent was told. */
import type { Decision } from '../../../machines/index.ts';
import { AnswerMark } from './marks.tsx';
import { go, hrefOf } from './place.ts';
import { dateTime, duration, millis, plural } from './terms.ts';
import { Json, Text } from './text.tsx';

/** Null and `{}` say nothing. */
const hasMore = (value: unknown): boolean =>
  typeof value === 'object' ? value !== null && Object.keys(value).length > 0 : value !== undefined && value !== '';

const glyphs = { pass: '✓', block: '✗', allow: '→', error: '!' } as const;

export function DecisionCard({ decision, label = 'Decision' }: { decision: Decision; label?: string }) {
  const { verdicts, feedback, nextPrompt, retry, policy } = decision;
  return (
    <article class="decision" data-answer={decision.decision} aria-label={label}>
      <p class="answer-line">
        <AnswerMark decision={decision} />
        {decision.dryRun && <span class="tag">dry run</span>}
      </p>
      <p class="reason">
        <Text value={decision.reason} />
      </p>
      <table class="guards">
        <caption class="sr-only">Guards in the order in which they were asked</caption>
        <thead class="sr-only">
          <tr>
            <th scope="col">Verdict</th>
            <th scope="col">Guard</th>
            <th scope="col">What it said and looked at</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {verdicts.map((verdict, index) => (
            <tr
              key={`${verdict.guard}${index}`}
              data-verdict={verdict.verdict}
              class={index === verdicts.length - 1 ? 'last' : ''}
            >
              <td class="glyph">
                <span aria-hidden="true">{glyphs[verdict.verdict]}</span>
                <span class="sr-only">{verdict.verdict}</span>
              </td>
              <th scope="row">{verdict.guard}</th>
              <td class="detail">
                <Text value={verdict.detail} />
                {verdict.input !== undefined && Object.keys(verdict.input).length > 0 && (
                  <Input value={verdict.input} />
                )}
              </td>
              <td class="took">
                {verdict.tookMs === undefined || verdict.tookMs < 0.05 ? '' : millis(verdict.tookMs)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {feedback.length > 0 && (
        <section class="feedback">
          <h4>What the checks answered</h4>
          {feedback.map((it, index) => (
            <div key={index}>
              <b>
                <Text value={it.check} max={80} />
              </b>{' '}
              <span class="tag" data-outcome={it.outcome}>
                {it.outcome}
              </span>
              <Text block value={it.message} max={1_200} />
              {hasMore(it.details) && <Input value={it.details} words="details" isOpen />}
            </div>
          ))}
        </section>
      )}
      {nextPrompt !== null && (
        <section class="told">
          <h4>What the agent was told</h4>
          <blockquote>
            <Text block value={nextPrompt} max={1_500} />
          </blockquote>
        </section>
      )}
      <p class="foot">
        <span>{dateTime(Date.parse(decision.at))}</span>
        {decision.tookMs > 0 && <span>took {millis(decision.tookMs)}</span>}
        <span>
          retries {retry.count}
          {retry.max === null ? '' : ` of ${retry.max}`}
        </span>
        <span>idle {duration(decision.idle.ms)}</span>
        <span>{plural(decision.pendingTasks, 'task')} pending</span>
        <span>
          policy <Text value={policy.name} max={60} />
          {policy.seq > 0 && (
            <>
              {' as of '}
              <a
                href={hrefOf({ at: policy.seq })}
                onClick={(event) => {
                  event.preventDefault();
                  go({ at: policy.seq });
                }}
              >
                entry {policy.seq}
              </a>
            </>
          )}
        </span>
        {decision.attempt !== null && (
          <span>
            attempt <Text value={decision.attempt} max={40} />
          </span>
        )}
        {decision.replica !== '' && (
          <span>
            by <Text value={decision.replica} max={40} />
          </span>
        )}
      </p>
    </article>
  );
}

const Input = ({ value, words = 'input', isOpen = false }: { value: unknown; words?: string; isOpen?: boolean }) => (
  <details class="input" open={isOpen}>
    <summary>{words}</summary>
    {typeof value === 'string' ? <Text block value={value} max={2_000} /> : <Json value={value} />}
  </details>
);
