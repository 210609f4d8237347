/** One task: who has it, what its hooks said and why, its iterations and checkpoints. */
import type { TaskView } from '../../../machines/index.ts';
import { ChartOf } from './chart-place.tsx';
import { Fact, Facts } from './facts.tsx';
import { StateMark } from './marks.tsx';
import { EscalationNote, OperatorButtons } from './operator.tsx';
import { shownMs, shownView } from './past.ts';
import { PlanList } from './plan.tsx';
import { Refused } from './refused.tsx';
import { ago, millis, plural } from './terms.ts';
import { Name, Text } from './text.tsx';
import { Timeline } from './timeline.tsx';
import { Unknown } from './unknown.tsx';
import { Links } from './worker-view.tsx';

export function TaskPanel({ id }: { id: string }) {
  const view = shownView.value as TaskView | null | undefined;
  if (view === undefined) return <p class="muted pad">Reading…</p>;
  if (view === null) return <Unknown entity="task" id={id} />;
  return (
    <>
      <p class="lead">
        <StateMark state={view.state} note={view.outcome} />
      </p>
      {view.title !== null && (
        <p class="title">
          <Text value={view.title} max={200} />
        </p>
      )}
      <OperatorButtons entity="task" id={id} escalation={view.escalation} ended />
      <EscalationNote escalation={view.escalation} resolution={null} />
      <Facts>
        <Fact name="Worker">{view.worker === null ? 'nobody' : <Links entity="worker" ids={[view.worker]} />}</Fact>
        <Fact name="Queue">{view.queue === null ? 'none' : <Name value={view.queue} />}</Fact>
        {view.policy !== null && (
          <Fact name="Policy">
            <Name value={view.policy} />
          </Fact>
        )}
        {view.after.length > 0 && (
          <Fact name="After">
            <Links entity="task" ids={view.after} />
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
      <Hooks view={view} />
      <ChartOf machine="task" states={[view.state]} />
      {view.plan !== null && view.plan.length > 0 && <PlanList plan={view.plan} />}
      <Checkpoints view={view} />
      <Refused refused={view.refused} />
      <Timeline entity="task" id={id} />
    </>
  );
}

function Hooks({ view: { hooks, hookStats } }: { view: TaskView }) {
  if (hooks.length === 0 && hookStats.length === 0) return null;
  const gone = hookStats.filter((it) => !hooks.some(({ hook }) => hook === it.hook));
  const all = [
    ...hooks.map(({ hook, type, enabled }) => ({ hook, type, enabled })),
    ...gone.map((it) => ({ ...it, enabled: null })),
  ];
  return (
    <section aria-label="Hooks">
      <h3>Why a hook said what it said</h3>
      <ul class="hooks">
        {all.map(({ hook, type, enabled }) => {
          const stats = hookStats.find((it) => it.hook === hook);
          return (
            <li key={hook}>
              <p>
                <b>
                  <Text value={hook} max={60} />
                </b>{' '}
                <span class="tag">{type}</span>
                {enabled === false && <span class="tag">disabled</span>}
                {enabled === null && <span class="tag">removed</span>}
              </p>
              {stats === undefined ? (
                <p class="muted">Not asked yet.</p>
              ) : (
                <>
                  <p>
                    <b>{stats.last.action}</b> <Text value={stats.last.reason} />{' '}
                    <span class="muted">{ago(Date.parse(stats.last.at), shownMs.value)}</span>
                  </p>
                  <p class="muted">
                    asked {plural(stats.asked, 'time')}: {stats.complete} complete, {stats.continue} continue,{' '}
                    {stats.escalate} escalate, {stats.skip} skipped
                    {stats.errors > 0 && `, ${plural(stats.errors, 'error')}`}
                    {stats.tookMs > 0 && ` · ${millis(stats.tookMs / Math.max(1, stats.asked))} each`}
                  </p>
                </>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Checkpoints({ view: { checkpoints } }: { view: TaskView }) {
  if (checkpoints.length === 0) return null;
  return (
    <section aria-label="Checkpoints">
      <h3>Checkpoints</h3>
      <ul class="plain">
        {[...checkpoints].reverse().map((it) => (
          <li key={it.checkpoint}>
            <b>
              <Text value={it.checkpoint} max={60} />
            </b>{' '}
            <span class="muted">{ago(Date.parse(it.at), shownMs.value)}</span>
            {it.phase !== null && (
              <>
                {' phase '}
                <Text value={it.phase} max={60} />
              </>
            )}
            {it.step !== null && (
              <>
                {' step '}
                <Text value={String(it.step)} max={60} />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
