/** One worker: its state and why, its history, its chart, and what it works on. */
import type { WorkerView } from '../../../../machines/index.ts';
import type { TakenTransition } from '../../chart/taken-edge.ts';
import { ActorChart } from '../chart/actor-chart.tsx';
import { apiPath } from '../data/api.ts';
import { connection } from '../data/connection.ts';
import { shownView } from '../data/past.ts';
import { EscalationNote } from '../operator/escalation-note.tsx';
import { InputRequests } from '../operator/input-requests.tsx';
import { OperatorButtons } from '../operator/operator-buttons.tsx';
import { route } from '../route.ts';
import { Ago } from '../ui/age.tsx';
import { createLazy } from '../ui/lazy.tsx';
import { StateMark } from '../ui/state-mark.tsx';
import type { Held } from '../ui/use-held.ts';
import { HeldArea, useHeldView } from './held-view.tsx';
import { PlanList } from './plan-list.tsx';
import { RefusedEntries } from './refused-entries.tsx';
import { Tabs } from './tabs.tsx';
import { Timeline } from './timeline.tsx';
import { Timers } from './timers.tsx';
import { UnknownActor } from './unknown-actor.tsx';
import { Why } from './why.tsx';
import { WorkerFacts } from './worker-facts.tsx';

type Props = { readonly id: string; readonly view: WorkerView };

export function WorkerPanel({ id }: { id: string }) {
  const view = shownView.value as WorkerView | null | undefined;
  if (view === undefined) return <p class="muted pad">Loading…</p>;
  if (view === null) return <UnknownActor entity="worker" id={id} />;
  return <KnownWorker id={id} view={view} />;
}

function KnownWorker({ id, view }: Props) {
  const held = useHeldView({ entity: 'worker', id }, view, route.value.tab === 'plan' ? planOf : whyOf);
  const { state, presence, escalation } = held.shown;
  return (
    <>
      <div class="standing">
        <p class="lead">
          <StateMark state={state} note={presence === 'active' ? null : presence} />
          <span class="muted">
            last seen <Ago thenMs={Date.parse(view.lastSeen)} />
          </span>
        </p>
        <OperatorButtons {...{ entity: 'worker', id, escalation, ended: state === 'stopped' }} />
      </div>
      <Tabs
        sections={{
          why: { title: 'Why', content: () => <WhySection {...{ id, view, held }} /> },
          timeline: { title: 'Timeline', content: () => <History {...{ id, held }} /> },
          sequence: { title: 'Sequence', content: () => <SequenceView id={id} /> },
          chart: { title: 'Chart', content: () => <ChartSection view={view} /> },
          plan: { title: 'Plan and tasks', content: () => <PlanSection {...{ id, held }} /> },
        }}
      />
    </>
  );
}

const SequenceView = createLazy(
  'the sequence',
  async () => (await import('../sequence/sequence-view.tsx')).SequenceView,
);

type HeldProps = { readonly id: string; readonly held: Held<WorkerView> };

function WhySection({ id, view: { inputs: live }, held }: Props & HeldProps) {
  const { shown: view, isUsed } = held;
  return (
    <HeldArea held={held}>
      <InputRequests {...{ ...view, live, isUsed }} />
      <EscalationNote escalation={view.escalation} resolution={view.resolution} />
      {view.attempt !== null && <Timers view={view} />}
      <Why id={id} view={view} />
      {view.attempt === null && <Timers view={view} />}
      <RefusedEntries refused={view.refused} />
    </HeldArea>
  );
}

/** What it and the line above it are made of. Requests that are answered keep their places by themselves. */
const whyOf = ({ inputs, escalation, resolution, attempt, lastDecision, refused, ...view }: WorkerView) => [
  ...[view.state, view.presence, inputs.map(({ seq }) => seq), escalation, resolution, attempt, lastDecision?.seq],
  ...[refused, view.tasks.length > 0, view.idle.limitMs],
];

/** What moves when it changes. */
const planOf = (view: WorkerView) => [whyOf(view), view.plan, view.tasks];

const History = ({ id, held }: HeldProps) => (
  <HeldArea held={held} isQuiet>
    <Timeline entity="worker" id={id} />
    {connection.value !== 'file' && (
      <p class="foot">
        <a href={apiPath(`history/${id}.jsonl`)} download>
          Download history
        </a>{' '}
        <span class="muted">for “stopgate replay”</span>{' '}
        <a href={apiPath(`incident/${id}.html`)} download>
          as a page
        </a>{' '}
        <span class="muted">that opens without the service</span>
      </p>
    )}
  </HeldArea>
);

const presenceMoveOf = ({ presence, presenceFrom }: WorkerView): TakenTransition | null =>
  presenceFrom === null ? null : { from: presenceFrom, to: presence, event: 'presence.changed' };

const ChartSection = ({ view }: Pick<Props, 'view'>) => (
  <ActorChart
    key={view.worker}
    id={view.worker}
    machine="worker"
    states={[view.state, view.presence]}
    transition={view.lastTransition && { ...view.lastTransition, guard: view.lastDecision?.verdicts.at(-1)?.guard }}
    beside={presenceMoveOf(view)}
  />
);

const PlanSection = ({ id, held }: HeldProps) => (
  <HeldArea held={held}>
    {held.shown.plan.length > 0 ? <PlanList plan={held.shown.plan} /> : <p class="muted">It has no plan.</p>}
    <WorkerFacts id={id} view={held.shown} />
  </HeldArea>
);
