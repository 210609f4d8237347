/** The result of a comparison: stops that would have been decided differently or have an unknown result, in groups. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { WhatIfAnswer, WhatIfDifference } from '../../messages.ts';
import { DecisionCard } from '../actor/decision-card.tsx';
import { Link } from '../ui/controls.tsx';
import { count, dateTime, millis, plural } from '../ui/format.ts';
import { DecisionMark, Name } from '../ui/text.tsx';
import { type Group, type Grouping, groupDifferences, groupings } from './share.ts';

const grouping = signal<Grouping>('guard');
/** Maximum number of differences listed per group. */
const listedMax = 50;

/** `isOld`: the answer belongs to an earlier text, while the current one is compared or has problems. */
export function Differences({ answer, isOld }: { answer: WhatIfAnswer; isOld: boolean }) {
  const { differences, omitted, compared } = answer;
  const groups = groupDifferences([...differences].reverse(), grouping.value);
  return (
    <section class="differences" aria-label="Differences" data-old={isOld || undefined}>
      <h3>
        {summaryOf(answer)} <span class="muted">(compared in {millis(answer.tookMs)})</span>
      </h3>
      {compared === 0 && <p class="muted">The log has no decided stops yet. Let an agent try to stop first.</p>}
      {compared > 0 && differences.length === 0 && <p class="muted">All would have been decided the same way.</p>}
      {differences.length > 0 && <GroupBy />}
      {groups.map((group) => (
        <GroupView key={`${grouping.value}:${group.title}`} group={group} isOpen={groups.length === 1} />
      ))}
      {omitted > 0 && (
        <p class="muted">and {count(omitted)} earlier ones; see “stopgate replay --fleet F --policy new.yaml --diff”</p>
      )}
    </section>
  );
}

function summaryOf({ compared, unknown, differ }: WhatIfAnswer): string {
  const rest = unknown > 0 ? `, ${count(unknown)} unknown` : '';
  return `${count(differ)} of ${plural(compared, 'stop')} would differ${rest}`;
}

const GroupBy = () => (
  <fieldset class="row segmented">
    <legend class="sr-only">Group by</legend>
    {groupings.map((name) => (
      <label key={name}>
        <input
          type="radio"
          name="grouping"
          checked={grouping.value === name}
          onChange={() => {
            grouping.value = name;
          }}
        />
        by {name}
      </label>
    ))}
  </fieldset>
);

const GroupView = ({ group: { title, differences }, isOpen }: { group: Group; isOpen: boolean }) => (
  <Opened title={title} note={count(differences.length)} isOpen={isOpen}>
    <ul class="plain">
      {differences.slice(0, listedMax).map((difference) => (
        <Difference key={`${difference.worker}:${difference.attempt}`} difference={difference} />
      ))}
    </ul>
    {differences.length > listedMax && <p class="muted">and {count(differences.length - listedMax)} earlier ones</p>}
  </Opened>
);

/** A collapsible section whose content is rendered when it is first opened. */
function Opened({ title, note, isOpen = false, children }: OpenedProps) {
  const [wasOpened, setOpened] = useState(isOpen);
  return (
    <details class="group" open={isOpen} onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary class="strong">
        <Name value={title} /> {note !== undefined && <span class="tag">{note}</span>}
      </summary>
      {wasOpened && children}
    </details>
  );
}
type OpenedProps = {
  readonly title: string;
  readonly note?: string;
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
};

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
    {after !== null && grouping.value !== 'guard' && (
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
