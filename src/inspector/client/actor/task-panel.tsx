/** The panel of a task: its holder, what failed last, hook results, cost, checkpoints and history. */
import { useEffect, useState } from 'preact/hooks';
import type { Decision, TaskView } from '../../../../machines/index.ts';
import type { TimelinePage } from '../../messages.ts';
import { get } from '../data/api.ts';
import { shownFleet, shownView } from '../data/past.ts';
import { isShownWithWorker } from '../inbox/find-waiting.ts';
import { AnswerBox } from '../operator/answer-box.tsx';
import { EscalationNote, OperatorButtons } from '../operator/escalation-note.tsx';
import { route } from '../route.ts';
import { millis, plural, usedText } from '../ui/format.ts';
import { Ago, For, Name, StateMark, Text } from '../ui/text.tsx';
import type { Held } from '../ui/use-held.ts';
import { DecisionCard } from './decision-card.tsx';
import {
  ActorChart,
  ActorLinks,
  Facts,
  HeldArea,
  PlanList,
  RefusedEntries,
  Tabs,
  Timeline,
  UnknownActor,
  useHeldView,
} from './panel.tsx';

/** The checkpoints of a task, newest first. */
function CheckpointList({ checkpoints }: Pick<TaskView, 'checkpoints'>) {
  if (checkpoints.length === 0) return null;
  return (
    <section aria-label="Checkpoints">
      <h3>Checkpoints</h3>
      <ul class="plain">
        {[...checkpoints].reverse().map((checkpoint) => (
          <li key={checkpoint.checkpoint}>
            <Text as="b" value={checkpoint.checkpoint} max={60} />{' '}
            <span class="muted">
              <Ago thenMs={Date.parse(checkpoint.at)} />
            </span>
            {checkpoint.phase !== null && (
              <>
                {' phase '}
                <Text value={checkpoint.phase} max={60} />
              </>
            )}
            {checkpoint.step !== null && (
              <>
                {' step '}
                <Text value={String(checkpoint.step)} max={60} />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

type Stats = TaskView['hookStats'][number];

/** The hooks of a task with their last results. Removed hooks are listed as long as their results are known. */
function HookList({ view: { hooks, hookStats } }: { view: TaskView }) {
  if (hooks.length === 0 && hookStats.length === 0) return null;
  const removed = hookStats.filter((stat) => !hooks.some(({ hook }) => hook === stat.hook));
  const all = [
    ...hooks.map(({ hook, type, enabled }) => ({ hook, type, mark: enabled ? null : 'disabled' })),
    ...removed.map(({ hook, type }) => ({ hook, type, mark: 'removed' })),
  ];
  return (
    <section aria-label="Hooks">
      <h3>Hooks</h3>
      <ul class="hooks">
        {all.map(({ hook, type, mark }) => (
          <li key={hook}>
            <p>
              <Text as="b" value={hook} max={60} /> <span class="tag">{type}</span>
              {mark !== null && <span class="tag">{mark}</span>}
            </p>
            <HookResults stats={hookStats.find((stat) => stat.hook === hook)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function HookResults({ stats }: { stats: Stats | undefined }) {
  if (stats === undefined) return <p class="muted">Not run yet.</p>;
  const { last, asked: runs } = stats;
  return (
    <>
      <p>
        <b>{last.action}</b> <Text value={last.reason} />{' '}
        <span class="muted">
          <Ago thenMs={Date.parse(last.at)} />
        </span>
      </p>
      <p class="muted">
        run {plural(runs, 'time')}: {stats.complete} complete, {stats.continue} continue, {stats.escalate} escalate,{' '}
        {stats.skip} skipped
        {stats.errors > 0 && `, ${plural(stats.errors, 'error')}`}
        {stats.tookMs > 0 && ` · ${millis(stats.tookMs / Math.max(1, runs))} each`}
      </p>
    </>
  );
}

export function TaskPanel({ id }: { id: string }) {
  const view = shownView.value as TaskView | null | undefined;
  if (view === undefined) return <p class="muted pad">Loading…</p>;
  if (view === null) return <UnknownActor entity="task" id={id} />;
  return <KnownTask id={id} view={view} />;
}

function KnownTask({ id, view }: { id: string; view: TaskView }) {
  const held = useHeldView({ entity: 'task', id }, view, (taskView) => taskView);
  const { state, outcome, title, escalation, sentence } = held.shown;
  return (
    <>
      <div class="row standing">
        <p class="row lead">
          <StateMark state={state} note={outcome} />
          <Holder view={held.shown} />
        </p>
        <OperatorButtons entity="task" id={id} escalation={escalation} ended hasAnswer={!isWithWorker(id)} />
      </div>
      {title !== null && <Text as="p" class="sentence" value={title} max={200} />}
      {/* An escalation is shown below instead, a holder and an outcome above. */}
      {escalation === null && held.shown.worker === null && outcome === null && (
        <Text as="p" class={title === null ? 'sentence' : 'muted'} value={sentence} />
      )}
      <Tabs
        sections={{
          why: { title: 'Why', content: () => <WhySection held={held} /> },
          timeline: {
            title: 'Timeline',
            content: () => (
              <HeldArea held={held} isQuiet>
                <Timeline entity="task" id={id} version={changeOf(view)} />
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

function WhySection({ held: { shown: view }, held }: { held: Held<TaskView> }) {
  const isShared = isWithWorker(view.task);
  return (
    <HeldArea held={held}>
      <EscalationNote
        id={view.task}
        escalation={view.escalation}
        resolution={null}
        answer={!isShared && <AnswerBox item={{ entity: 'task', id: view.task }} />}
      />
      {view.escalation?.withWorker === true && <EscalatedWith worker={view.escalation.worker} isShared={isShared} />}
      <LastDecision view={view} />
      <HookList view={view} />
      <TaskFacts view={view} />
      <RefusedEntries refused={view.refused} />
    </HeldArea>
  );
}

/** Whether the task shares the answer of the worker that it was escalated with. */
function isWithWorker(task: string): boolean {
  const { tasks, workers, version } = shownFleet.value;
  void version.value;
  const row = tasks.get(task);
  return row !== undefined && isShownWithWorker({ workers }, row);
}

/** Names the worker of an escalated task, and explains what to do if only the worker was resolved. */
function EscalatedWith({ worker, isShared }: { worker: string; isShared: boolean }) {
  const row = shownFleet.value.workers.get(worker);
  const now = row === undefined ? '' : row.escalatedFor === null ? `, which is ${row.state} now` : againText;
  return (
    <p>
      It was escalated with worker <ActorLinks entity="worker" ids={[worker]} />
      {isShared
        ? ', which waits for the same answer.'
        : `${now}. This task still waits: put it back in its queue, or cancel it.`}
    </p>
  );
}

const againText = ', which waits for something else now';

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

/** Changes with the task's state and with each attempt of its holder. */
const changeOf = ({ lastTransition, judged }: TaskView): string => `${lastTransition?.at} ${judged?.attempt}`;

/** The newest decision about the task, with the output of what failed. */
function LastDecision({ view }: { view: TaskView }) {
  const [decision, setDecision] = useState<Decision | null>(null);
  const { at } = route.value;
  useEffect(() => {
    const asked = new AbortController();
    const before = at === null ? '' : `&before=${at + 1}`;
    get<TimelinePage>(`timeline/task/${encodeURIComponent(view.task)}?limit=1${before}`, asked.signal).then(
      (page) => setDecision((page.decision?.data as Decision | undefined) ?? null),
      () => {},
    );
    return () => asked.abort();
  }, [view.task, changeOf(view), at]);
  if (decision === null) return null;
  return (
    <section aria-label="Last decision">
      <h3 class="row">
        Last stop of <ActorLinks entity="worker" ids={[decision.worker]} />
        <span class="muted">
          <Ago thenMs={Date.parse(decision.at)} />
        </span>
      </h3>
      <DecisionCard
        decision={decision}
        label="Last decision"
        isSaid={view.escalation !== null && view.escalation.reason === decision.reason}
      />
    </section>
  );
}

const TaskFacts = ({ view: { usage, ...view } }: { view: TaskView }) => (
  <Facts
    facts={[
      ['Cost', usage !== undefined && (usedText(usage) ?? false)],
      ['Queue', view.queue === null ? 'none' : <Name value={view.queue} />],
      ['Policy', view.policy !== null && <Name value={view.policy} />],
      ['After', view.after.length > 0 && <ActorLinks entity="task" ids={view.after} />],
      [
        'Iteration',
        view.iteration !== null && `${view.iteration} ${view.maxIterations === null ? '' : `of ${view.maxIterations}`}`,
      ],
      ['Phase', view.phase !== null && <Text value={view.phase} max={80} />],
    ]}
  />
);

/** The worker that holds the task, and since when. */
function Holder({ view: { worker, state, standing } }: { view: TaskView }) {
  const since = standing.waits[0]?.since ?? null;
  if (worker === null) return state === 'stopped' ? null : <span class="muted">nobody holds it</span>;
  return (
    <span class="row">
      held by <ActorLinks entity="worker" ids={[worker]} />
      {since !== null && (
        <span class="muted">
          for <For sinceMs={Date.parse(since)} />
        </span>
      )}
    </span>
  );
}
