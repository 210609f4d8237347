/** One task: who holds it, the results of its hooks, its checkpoints, and its history. */
import type { TaskView } from '../../../../machines/index.ts';
import { ActorChart } from '../chart/actor-chart.tsx';
import { shownFleet, shownView } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { EscalationNote } from '../operator/escalation-note.tsx';
import { OperatorButtons } from '../operator/operator-buttons.tsx';
import { StateMark } from '../ui/state-mark.tsx';
import { stateOf } from '../ui/states.ts';
import { Name, Text } from '../ui/text.tsx';
import type { Held } from '../ui/use-held.ts';
import { ActorLinks } from './actor-links.tsx';
import { CheckpointList } from './checkpoint-list.tsx';
import { Fact, Facts } from './facts.tsx';
import { HeldArea, useHeldView } from './held-view.tsx';
import { HookList } from './hook-list.tsx';
import { PlanList } from './plan-list.tsx';
import { RefusedEntries } from './refused-entries.tsx';
import { Tabs } from './tabs.tsx';
import { Timeline } from './timeline.tsx';
import { UnknownActor } from './unknown-actor.tsx';

export function TaskPanel({ id }: { id: string }) {
  const view = shownView.value as TaskView | null | undefined;
  if (view === undefined) return <p class="muted pad">Loading…</p>;
  if (view === null) return <UnknownActor entity="task" id={id} />;
  return <KnownTask id={id} view={view} />;
}

function KnownTask({ id, view }: { id: string; view: TaskView }) {
  const held = useHeldView({ entity: 'task', id }, view, (it) => it);
  const { state, outcome, title, escalation } = held.shown;
  return (
    <>
      <div class="standing">
        <p class="lead">
          <StateMark state={state} note={outcome} />
        </p>
        <OperatorButtons entity="task" id={id} escalation={escalation} ended />
      </div>
      {title !== null && (
        <p class="title">
          <Text value={title} max={200} />
        </p>
      )}
      <Tabs
        sections={{
          why: { title: 'Why', content: () => <WhySection held={held} /> },
          timeline: {
            title: 'Timeline',
            content: () => (
              <HeldArea held={held} isQuiet>
                <Timeline entity="task" id={id} />
              </HeldArea>
            ),
          },
          chart: {
            title: 'Chart',
            content: () => (
              <ActorChart key={id} id={id} machine="task" states={[view.state]} transition={view.lastTransition} />
            ),
          },
          plan: { title: 'Plan and checkpoints', content: () => <PlanSection held={held} /> },
        }}
      />
    </>
  );
}

const WhySection = ({ held }: { held: Held<TaskView> }) => (
  <HeldArea held={held}>
    <EscalationNote escalation={held.shown.escalation} resolution={null} />
    <EscalatedWith escalation={held.shown.escalation} />
    <TaskFacts view={held.shown} />
    <HookList view={held.shown} />
    <RefusedEntries refused={held.shown.refused} />
  </HeldArea>
);

/** Its worker's resolution left it as it was: nobody works on it. */
function EscalatedWith({ escalation }: Pick<TaskView, 'escalation'>) {
  if (escalation === null || !escalation.withWorker) return null;
  void shownFleet.value.version.value;
  const row = shownFleet.value.workers.get(escalation.worker);
  const state = row === undefined ? null : stateOf(row[w.state]);
  return (
    <p>
      It was escalated with worker <ActorLinks entity="worker" ids={[escalation.worker]} />
      {state === 'escalated'
        ? ', which waits for the same answer.'
        : `${state === null ? '' : `, which is ${state} now`}. This task still waits: resume it to put it back in its queue, or stop it to cancel it.`}
    </p>
  );
}

const PlanSection = ({ held }: { held: Held<TaskView> }) => (
  <HeldArea held={held}>
    {held.shown.plan !== null && held.shown.plan.length > 0 ? (
      <PlanList plan={held.shown.plan} />
    ) : (
      <p class="muted">It has no plan.</p>
    )}
    <CheckpointList checkpoints={held.shown.checkpoints} />
  </HeldArea>
);

const TaskFacts = ({ view }: { view: TaskView }) => (
  <Facts>
    <Fact name="Worker">{view.worker === null ? 'none' : <ActorLinks entity="worker" ids={[view.worker]} />}</Fact>
    <Fact name="Queue">{view.queue === null ? 'none' : <Name value={view.queue} />}</Fact>
    {view.policy !== null && (
      <Fact name="Policy">
        <Name value={view.policy} />
      </Fact>
    )}
    {view.after.length > 0 && (
      <Fact name="After">
        <ActorLinks entity="task" ids={view.after} />
      </Fact>
    )}
    {view.iteration !== null && (
      <Fact name="Iteration">
        {view.iteration} {view.maxIterations === null ? '' : `of ${view.maxIterations}`}
      </Fact>
    )}
    {view.phase !== null && (
      <Fact name="Phase">
        <Text value={view.phase} max={80} />
      </Fact>
    )}
  </Facts>
);
