/** A decision: the verdict, check results, the prompt for the agent, and the guards with their input. */
import { useState } from 'preact/hooks';
import type { Decision } from '../../../../machines/index.ts';
import { checksNotRun } from '../../../../machines/replay/standing.ts';
import { promptAdditions } from '../../attempt-changes.ts';
import { verdictOf } from '../../vocabulary.ts';
import { apiPath } from '../data/api.ts';
import { Button, Copy, Link } from '../ui/controls.tsx';
import { dateTime, duration, millis, plural } from '../ui/format.ts';
import { DecisionMark, Json, Tail, Text, wordsOf } from '../ui/text.tsx';

type GuardVerdict = Decision['verdicts'][number];

/** The deciding guard and those that failed before it. Guards that passed are collapsed. */
function GuardList({ decision: { verdicts, reason, cause } }: { decision: Decision }) {
  const deciding = cause === 'superseded' ? undefined : verdicts.at(-1);
  const before = deciding === undefined ? verdicts : verdicts.slice(0, -1);
  // Guards with an error, or that failed although the cap or `stuck` prevented the block.
  const failed = before.filter(({ verdict }) => verdict !== 'pass');
  const passed = before.filter(({ verdict }) => verdict === 'pass');
  return (
    <>
      <ul class="guards" aria-label="Guards that decided">
        {[...failed, ...(deciding === undefined ? [] : [deciding])].map((verdict) => (
          <GuardLine key={verdict.guard} verdict={verdict} reason={reason} />
        ))}
      </ul>
      {passed.length > 0 && (
        <details class="passed">
          <summary>{plural(passed.length, 'guard')} passed</summary>
          <ul class="guards">
            {passed.map((verdict, index) => (
              <GuardLine key={`${verdict.guard}${index}`} verdict={verdict} reason="" />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const signs = { pass: '✓', block: '✗', allow: '→', error: '!' } as const;

const GuardLine = ({ verdict, reason }: { verdict: GuardVerdict; reason: string }) => (
  <li data-verdict={verdict.verdict} data-guard={verdict.guard}>
    <span class="sign" aria-hidden="true">
      {signs[verdict.verdict]}
    </span>
    <span class="sr-only">{verdict.verdict}</span>
    <b>{verdict.guard}</b>
    <span class="detail">
      {isAbove(verdict.detail, reason) ? <span class="muted">as above</span> : <Text value={verdict.detail} />}
      {(verdict.tookMs ?? 0) >= 0.05 && <span class="muted"> {millis(verdict.tookMs ?? 0)}</span>}
      {verdict.input !== undefined && Object.keys(verdict.input).length > 0 && <Input input={verdict.input} />}
    </span>
  </li>
);

/** Whether the detail repeats the reason. Short details are always shown. */
const isAbove = (detail: string, reason: string): boolean =>
  detail === reason || (detail.length > 20 && reason.includes(detail));

const Input = ({ input }: { input: Readonly<Record<string, unknown>> }) => (
  <details class="input">
    <summary>input</summary>
    <Json value={input} />
  </details>
);

/** `isSaid`: its reason is already shown above. */
type CardProps = { readonly decision: Decision; readonly label?: string; readonly isSaid?: boolean };

export const DecisionCard = ({ decision, label = 'Decision', isSaid = false }: CardProps) => (
  <article
    class="decision"
    data-verdict-kind={verdictOf(decision).kind}
    data-answer={decision.decision}
    data-cause={decision.cause}
    aria-label={label}
  >
    <p class="row sentence">
      <DecisionMark decision={decision} />
      {decision.cause === 'unjudged' && decision.task !== null && (
        <span class="tag unjudged">{decision.tasks.length > 1 ? 'its tasks stay held' : 'its task stays held'}</span>
      )}
      {decision.dryRun && <span class="tag">dry run</span>}
    </p>
    {!isSaid && decision.cause !== 'complete' && <Text as="p" class="reason" value={decision.reason} />}
    {decision.feedback.length + checksNotRun(decision).length > 0 && <CheckResults decision={decision} />}
    {decision.nextPrompt !== null && <NextPrompt decision={decision} prompt={decision.nextPrompt} />}
    <GuardList decision={decision} />
    <Footer decision={decision} />
  </article>
);

const CheckResults = ({ decision }: { decision: Decision }) => (
  <section class="feedback" aria-label="Check results">
    {decision.feedback.map((finding, index) => (
      <div key={index}>
        <Text as="b" value={finding.check} max={80} />{' '}
        <span class="tag" data-outcome={finding.outcome}>
          {finding.outcome}
        </span>
        {!isAbove(finding.message, decision.reason) && <Tail value={finding.message} />}
        {typeof finding.details === 'string' && finding.details !== finding.message && <Tail value={finding.details} />}
        {typeof finding.details === 'object' && isFilled(finding.details) && <Details value={finding.details} />}
      </div>
    ))}
    {checksNotRun(decision).map((check) => (
      <div key={check}>
        <Text as="b" value={check} max={80} />{' '}
        <span class="tag" data-outcome="not-run">
          not run
        </span>
      </div>
    ))}
  </section>
);

/** What the agent was told beyond the reason and the check results above. The whole prompt opens on demand. */
function NextPrompt({ decision, prompt }: { decision: Decision; prompt: string }) {
  const [isWhole, setWhole] = useState(false);
  const beyond = promptAdditions(decision);
  const isSame = beyond === prompt.trim();
  const shown = isWhole ? prompt : beyond;
  return (
    <section class="next-prompt" aria-label="Prompt for the agent">
      <p class="row">
        {shown !== '' && <b>{isSame || isWhole ? 'The agent was told' : 'The agent was told this, and'}</b>}
        {!isSame && (
          <Button class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {!isWhole ? 'The whole prompt' : beyond === '' ? 'Hide the prompt' : 'Only the additions'}
          </Button>
        )}
      </p>
      {shown !== '' && <Text as="blockquote" block value={shown} max={1_500} />}
    </section>
  );
}

const Footer = ({ decision }: { decision: Decision }) => (
  <p class="row foot">
    <span>{wordsOf(decision)}</span>
    <span>{dateTime(Date.parse(decision.at))}</span>
    {decision.tookMs > 0 && <span>took {millis(decision.tookMs)}</span>}
    <span>
      retries {decision.retry.count}
      {decision.retry.max === null ? '' : ` of ${decision.retry.max}`}
    </span>
    {decision.idle.limitMs !== null && (
      <span>
        idle {duration(decision.idle.ms)} of {duration(decision.idle.limitMs)}
      </span>
    )}
    {decision.pendingTasks > 0 && <span>{plural(decision.pendingTasks, 'task')} pending</span>}
    <PolicyReference policy={decision.policy} />
    {decision.attempt !== null && (
      <span>
        attempt <Text value={decision.attempt} max={40} /> <Copy value={decision.attempt} />
      </span>
    )}
    {decision.cause === 'complete' && decision.attempt !== null && (
      <a
        href={apiPath(`receipt/worker/${decision.worker}?attempt=${encodeURIComponent(decision.attempt)}`)}
        target="_blank"
        rel="noreferrer"
        title="A statement about the git tree that was judged; “stopgate attest” signs it"
      >
        receipt
      </a>
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

/** False for null and `{}`, which are not shown. */
const isFilled = (value: object | null): boolean => value !== null && Object.keys(value).length > 0;

const Details = ({ value }: { value: unknown }) => (
  <details class="input">
    <summary>details</summary>
    <Json value={value} />
  </details>
);
