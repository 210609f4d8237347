/** Why a worker is where it is: its last decision, what would let it go, and how the attempts before differ. */
import type { WorkerView } from '../../../../machines/index.ts';
import { type Pattern, patternOf } from '../../attempt-changes.ts';
import { plural } from '../ui/format.ts';
import { AttemptList } from './attempt-list.tsx';
import { attemptsShown, useAttempts } from './attempts.ts';
import { DecisionCard } from './decision-card.tsx';
import { WhyNotYet } from './why-not-yet.tsx';

export function Why({ id, view }: { id: string; view: WorkerView }) {
  const { lastDecision } = view;
  const attempts = useAttempts(id, lastDecision?.seq ?? null);
  if (lastDecision === null && view.state === 'stopped')
    return <p class="muted">There is no decision: it has not tried to stop.</p>;
  if (lastDecision === null) return <WhyNotYet view={view} />;
  // For a person to answer: what the agent said comes first.
  const isForPerson = view.escalation !== null;
  const pattern = attempts === null || view.state === 'stopped' ? null : patternOf(attempts);
  return (
    <>
      {pattern !== null && <p class="pattern">{describePattern(pattern)}</p>}
      {isForPerson && attempts !== null && <AttemptList attempts={attempts} />}
      <section aria-label="Last decision">
        <DecisionCard decision={lastDecision} label="Last decision" />
      </section>
      {!isForPerson && <WhyNotYet view={view} />}
      {!isForPerson && attempts !== null && <AttemptList attempts={attempts} />}
    </>
  );
}

function describePattern(pattern: Pattern): string {
  const { kind, times } = pattern;
  const attempts = kind === 'same' ? times : times * pattern.length;
  const howOften = `${attempts < attemptsShown ? '' : 'at least '}${plural(times, 'time')}`;
  return kind === 'same'
    ? `The same failure ${howOften} in a row`
    : `It is going round in circles: the same ${pattern.length} failures in turn, ${howOften}`;
}
