/** The result of a comparison: each attempt that would have been decided differently, or whose result is unknown. */
import type { WhatIfAnswer, WhatIfDifference } from '../../messages.ts';
import { DecisionCard } from '../actor/decision-card.tsx';
import { count, dateTime, plural } from '../ui/format.ts';
import { Link } from '../ui/link.tsx';
import { DecisionMark } from '../ui/state-mark.tsx';
import { Name } from '../ui/text.tsx';

export const Differences = ({ answer }: { answer: WhatIfAnswer }) => (
  <section class="differences" aria-label="Differences">
    <h3>
      {summaryOf(answer)} <span class="muted">({Math.round(answer.tookMs)} ms)</span>
    </h3>
    {answer.compared === 0 && <p class="muted">The log has no decided attempts yet. Let an agent try to stop first.</p>}
    <ul class="plain">
      {[...answer.differences].reverse().map((it) => (
        <Difference key={`${it.worker}:${it.attempt}`} difference={it} />
      ))}
    </ul>
    {answer.omitted > 0 && (
      <p class="muted">
        and {count(answer.omitted)} earlier ones; see “stopgate replay --fleet F --policy new.yaml --diff”
      </p>
    )}
  </section>
);

function summaryOf({ compared, unknown, differences, omitted }: WhatIfAnswer): string {
  const different = differences.filter((it) => it.after !== null).length;
  const changed = different === 0 && unknown === 0 ? 'none' : count(different + omitted);
  const rest = unknown > 0 ? `, ${count(unknown)} unknown` : '';
  return `${plural(compared, 'attempt')} compared: ${changed} would differ${rest}`;
}

const Difference = ({ difference }: { difference: WhatIfDifference }) => (
  <li class="difference" data-worker={difference.worker}>
    <details>
      <summary>
        <Name value={difference.worker} />
        <span class="muted">{dateTime(Date.parse(difference.at))}</span>
        <Change difference={difference} />
      </summary>
      <BeforeAndAfter difference={difference} />
    </details>
  </li>
);

const Change = ({ difference: { before, after, missingCheck, guards } }: { difference: WhatIfDifference }) => (
  <>
    <span class="change">
      <DecisionMark decision={before} />
      <span aria-hidden="true">→</span>
      <span class="sr-only">becomes</span>
      {after === null ? (
        <span class="tag">
          {missingCheck === null
            ? 'unknown: it would still be held'
            : `unknown: the log has no result of ${missingCheck.slice(0, 60)}`}
        </span>
      ) : (
        <DecisionMark decision={after} />
      )}
    </span>
    {after !== null && (
      <span class="guard-change muted">
        guard {guards[0] ?? 'none'}
        {guards[0] !== guards[1] && ` → ${guards[1] ?? 'none'}`}
      </span>
    )}
  </>
);

const BeforeAndAfter = ({ difference: { worker, seq, before, after } }: { difference: WhatIfDifference }) => (
  <div class="before-after">
    <div>
      <h4>
        Before{' '}
        {seq !== null && (
          <Link to={{ view: 'workers', worker, task: null, at: seq }}>show the fleet at this entry</Link>
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
);
