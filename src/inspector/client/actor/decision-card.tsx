/** A decision, guard by guard: the verdict, the reason, the input and the time of each; and what the agent was sent. */
import type { Decision } from '../../../../machines/index.ts';
import { dateTime, duration, millis, plural } from '../ui/format.ts';
import { Link } from '../ui/link.tsx';
import { DecisionMark } from '../ui/state-mark.tsx';
import { Json, Text } from '../ui/text.tsx';

export const DecisionCard = ({ decision, label = 'Decision' }: { decision: Decision; label?: string }) => (
  <article class="decision" data-answer={decision.decision} data-cause={decision.cause} aria-label={label}>
    <p class="answer-line">
      <DecisionMark decision={decision} />
      {decision.cause === 'unjudged' && <span class="tag unjudged">not judged: its task stays held</span>}
      {decision.dryRun && <span class="tag">dry run</span>}
    </p>
    <p class="reason">
      <Text value={decision.reason} />
    </p>
    <Verdicts verdicts={decision.verdicts} />
    {decision.feedback.length > 0 && <CheckResults feedback={decision.feedback} />}
    {decision.nextPrompt !== null && (
      <section class="next-prompt">
        <h4>Prompt for the agent</h4>
        <blockquote>
          <Text block value={decision.nextPrompt} max={1_500} />
        </blockquote>
      </section>
    )}
    <Footer decision={decision} />
  </article>
);

const Verdicts = ({ verdicts }: Pick<Decision, 'verdicts'>) => (
  <table class="guards">
    <caption class="sr-only">Guards, in the order in which they ran</caption>
    <thead class="sr-only">
      <tr>
        <th scope="col">Verdict</th>
        <th scope="col">Guard</th>
        <th scope="col">Reason and input</th>
        <th scope="col">Time</th>
      </tr>
    </thead>
    <tbody>
      {verdicts.map((verdict, index) => (
        <VerdictRow key={`${verdict.guard}${index}`} verdict={verdict} isLast={index === verdicts.length - 1} />
      ))}
    </tbody>
  </table>
);

const signs = { pass: '✓', block: '✗', allow: '→', error: '!' } as const;

const VerdictRow = ({ verdict, isLast }: { verdict: Decision['verdicts'][number]; isLast: boolean }) => (
  <tr data-verdict={verdict.verdict} class={isLast ? 'last' : ''}>
    <td class="sign">
      <span aria-hidden="true">{signs[verdict.verdict]}</span>
      <span class="sr-only">{verdict.verdict}</span>
    </td>
    <th scope="row">{verdict.guard}</th>
    <td class="detail">
      <Text value={verdict.detail} />
      {isFilled(verdict.input) && <Details title="input" value={verdict.input} />}
    </td>
    <td class="took">{verdict.tookMs === undefined || verdict.tookMs < 0.05 ? '' : millis(verdict.tookMs)}</td>
  </tr>
);

const CheckResults = ({ feedback }: Pick<Decision, 'feedback'>) => (
  <section class="feedback">
    <h4>Check results</h4>
    {feedback.map((it, index) => (
      <div key={index}>
        <b>
          <Text value={it.check} max={80} />
        </b>{' '}
        <span class="tag" data-outcome={it.outcome}>
          {it.outcome}
        </span>
        <Text block value={it.message} max={1_200} />
        {isFilled(it.details) && <Details title="details" value={it.details} isOpen />}
      </div>
    ))}
  </section>
);

const Footer = ({ decision }: { decision: Decision }) => (
  <p class="foot">
    <span>{dateTime(Date.parse(decision.at))}</span>
    {decision.tookMs > 0 && <span>took {millis(decision.tookMs)}</span>}
    <span>
      retries {decision.retry.count}
      {decision.retry.max === null ? '' : ` of ${decision.retry.max}`}
    </span>
    <span>idle {duration(decision.idle.ms)}</span>
    <span>{plural(decision.pendingTasks, 'task')} pending</span>
    <PolicyReference policy={decision.policy} />
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
);

const PolicyReference = ({ policy }: Pick<Decision, 'policy'>) => (
  <span>
    policy <Text value={policy.name} max={60} />
    {policy.seq > 0 && (
      <>
        {' ('}
        <Link to={{ at: policy.seq }}>entry {policy.seq}</Link>
        {')'}
      </>
    )}
  </span>
);

/** Null, an empty text and `{}` are not worth showing. */
const isFilled = (value: unknown): boolean =>
  typeof value === 'object' ? value !== null && Object.keys(value).length > 0 : value !== undefined && value !== '';

const Details = ({ title, value, isOpen = false }: { title: string; value: unknown; isOpen?: boolean }) => (
  <details class="input" open={isOpen}>
    <summary>{title}</summary>
    {typeof value === 'string' ? <Text block value={value} max={2_000} /> : <Json value={value} />}
  </details>
);
