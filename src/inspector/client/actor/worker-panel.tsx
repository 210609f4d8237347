/** One worker: its state and why, its timers, its decisions, and its history. */
import type { WorkerView } from '../../../../machines/index.ts';
import { ActorChart } from '../chart/actor-chart.tsx';
import { apiPath } from '../data/api.ts';
import { shownMs, shownView } from '../data/past.ts';
import { EscalationNote } from '../operator/escalation-note.tsx';
import { OperatorButtons } from '../operator/operator-buttons.tsx';
import { ago } from '../ui/format.ts';
import { StateMark } from '../ui/state-mark.tsx';
import { DecisionCard } from './decision-card.tsx';
import { PlanList } from './plan-list.tsx';
import { RefusedEntries } from './refused-entries.tsx';
import { Timeline } from './timeline.tsx';
import { Timers } from './timers.tsx';
import { UnknownActor } from './unknown-actor.tsx';
import { WorkerFacts } from './worker-facts.tsx';

export function WorkerPanel({ id }: { id: string }) {
  const view = shownView.value as WorkerView | null | undefined;
  if (view === undefined) return <p class="muted pad">Loading…</p>;
  if (view === null) return <UnknownActor entity="worker" id={id} />;
  return (
    <>
      <p class="lead">
        <StateMark state={view.state} note={view.presence === 'active' ? null : view.presence} />
        <span class="muted">last seen {ago(Date.parse(view.lastSeen), shownMs.value)}</span>
      </p>
      <OperatorButtons entity="worker" id={id} escalation={view.escalation} ended={view.state === 'stopped'} />
      <EscalationNote escalation={view.escalation} resolution={view.resolution} />
      <Timers view={view} />
      <WorkerFacts id={id} view={view} />
      <section aria-label="Last decision">
        <h3>Last decision</h3>
        {view.lastDecision === null ? (
          <p class="muted">None yet: the worker has not tried to stop.</p>
        ) : (
          <DecisionCard decision={view.lastDecision} label="Last decision" />
        )}
      </section>
      <ActorChart machine="worker" states={[view.state, view.presence]} />
      {view.plan.length > 0 && <PlanList plan={view.plan} />}
      <RefusedEntries refused={view.refused} />
      <Timeline entity="worker" id={id} />
      <p class="foot">
        <a href={apiPath(`history/${id}.jsonl`)} download>
          Download history
        </a>{' '}
        <span class="muted">for “stopgate replay”</span>
      </p>
    </>
  );
}
