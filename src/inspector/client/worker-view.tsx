/** One worker: why it is believed to be where it is, what it waits for, and what was decided about it. */
import type { WorkerView } from '../../../machines/index.ts';
import { apiPath } from './api.ts';
import { ChartOf } from './chart-place.tsx';
import { Clocks } from './clocks.tsx';
import { DecisionCard } from './decision.tsx';
import { Fact, Facts } from './facts.tsx';
import { StateMark } from './marks.tsx';
import { EscalationNote, OperatorButtons } from './operator.tsx';
import { shown, shownMs, shownView } from './past.ts';
import { follow, hrefOf } from './place.ts';
import { PlanList } from './plan.tsx';
import { Refused } from './refused.tsx';
import { w } from './rows.ts';
import { ago } from './terms.ts';
import { Name, Text } from './text.tsx';
import { Timeline } from './timeline.tsx';
import { Unknown } from './unknown.tsx';

export function WorkerPanel({ id }: { id: string }) {
  const view = shownView.value as WorkerView | null | undefined;
  if (view === undefined) return <p class="muted pad">Reading…</p>;
  if (view === null) return <Unknown entity="worker" id={id} />;
  const seenMs = Date.parse(view.lastSeen);
  return (
    <>
      <p class="lead">
        <StateMark state={view.state} note={view.presence === 'active' ? null : view.presence} />
        <span class="muted">last heard {ago(seenMs, shownMs.value)}</span>
      </p>
      <OperatorButtons entity="worker" id={id} escalation={view.escalation} ended={view.state === 'stopped'} />
      <EscalationNote escalation={view.escalation} resolution={view.resolution} />
      <Clocks view={view} />
      <Facts>
        <Fact name="Agent">{view.agent === null ? 'not said' : <Name value={view.agent} />}</Fact>
        <Fact name="Policy">
          <Name value={view.policy} />
        </Fact>
        <Fact name="Queue">
          <Name value={view.queue} />
        </Fact>
        <Fact name="Retries">
          {view.retry.count} {view.retry.max === null ? '(no cap)' : `of ${view.retry.max}`}
        </Fact>
        {view.tasks.length > 0 && (
          <Fact name="Tasks">
            <Links entity="task" ids={view.tasks} />
          </Fact>
        )}
        {view.parent !== null && (
          <Fact name="Parent">
            <Links entity="worker" ids={[view.parent]} />
          </Fact>
        )}
        <Children id={id} />
        {view.profile !== null && (
          <Fact name="Profile">
            <Name value={view.profile} />
          </Fact>
        )}
        {view.cwd !== null && (
          <Fact name="Folder">
            <Text value={view.cwd} max={120} />
          </Fact>
        )}
        <Fact name="Tools used">{view.toolCount}</Fact>
        <Fact name="Files modified">{view.filesModified}</Fact>
        {view.keepAlives > 0 && <Fact name="Kept alive">{view.keepAlives} times</Fact>}
        {view.awaitsInput && <Fact name="Input">a person is asked</Fact>}
        {view.background.length > 0 && (
          <Fact name="Background">
            <Text value={view.background.join(', ')} />
          </Fact>
        )}
        {Object.entries(view.labels).map(([name, value]) => (
          <Fact key={name} name={name}>
            <Text value={value} max={120} />
          </Fact>
        ))}
      </Facts>
      <section aria-label="Last decision">
        <h3>Last decision</h3>
        {view.lastDecision === null ? (
          <p class="muted">None yet: it has not tried to stop.</p>
        ) : (
          <DecisionCard decision={view.lastDecision} label="Last decision" />
        )}
      </section>
      <ChartOf machine="worker" states={[view.state, view.presence]} />
      {view.plan.length > 0 && <PlanList plan={view.plan} />}
      <Refused refused={view.refused} />
      <Timeline entity="worker" id={id} />
      <p class="foot">
        <a href={apiPath(`history/${id}.jsonl`)} download>
          Download its history
        </a>{' '}
        <span class="muted">for “stopgate replay”</span>
      </p>
    </>
  );
}

function Children({ id }: { id: string }) {
  const { workers, names } = shown.value;
  void names.value;
  const ids = [...workers.values()].filter((row) => row[w.parent] === id).map((row) => row[w.name]);
  if (ids.length === 0) return null;
  return (
    <Fact name="Children">
      <Links entity="worker" ids={ids} />
    </Fact>
  );
}

const linksMax = 12;

export function Links({ entity, ids }: { entity: 'worker' | 'task'; ids: readonly string[] }) {
  return (
    <span class="links">
      {ids.slice(0, linksMax).map((id) => {
        const change = entity === 'worker' ? { worker: id, task: null } : { worker: null, task: id };
        return (
          <a key={id} href={hrefOf(change)} onClick={(event) => follow(event, change)}>
            <Name value={id} />
          </a>
        );
      })}
      {ids.length > linksMax && <span class="muted">and {ids.length - linksMax} more</span>}
    </span>
  );
}
