/** The fields of a worker, as a list of facts. */
import type { WorkerView } from '../../../../machines/index.ts';
import { shownFleet } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { Name, Text } from '../ui/text.tsx';
import { ActorLinks } from './actor-links.tsx';
import { Fact, Facts } from './facts.tsx';

export const WorkerFacts = ({ id, view }: { id: string; view: WorkerView }) => (
  <Facts>
    <Fact name="Agent">{view.agent === null ? 'unknown' : <Name value={view.agent} />}</Fact>
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
        <ActorLinks entity="task" ids={view.tasks} />
      </Fact>
    )}
    {view.parent !== null && (
      <Fact name="Parent">
        <ActorLinks entity="worker" ids={[view.parent]} />
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
    <Activity view={view} />
    {Object.entries(view.labels).map(([name, value]) => (
      <Fact key={name} name={name}>
        <Text value={value} max={120} />
      </Fact>
    ))}
  </Facts>
);

const Activity = ({ view }: { view: WorkerView }) => (
  <>
    <Fact name="Tools used">{view.toolCount}</Fact>
    <Fact name="Files modified">{view.filesModified}</Fact>
    {view.keepAlives > 0 && <Fact name="Keep-alives">{view.keepAlives}</Fact>}
    {view.awaitsInput && <Fact name="Input">waiting for a person</Fact>}
    {view.background.length > 0 && (
      <Fact name="Background">
        <Text value={view.background.join(', ')} />
      </Fact>
    )}
  </>
);

function Children({ id }: { id: string }) {
  const { workers, ids } = shownFleet.value;
  void ids.value;
  const children = [...workers.values()].filter((row) => row[w.parent] === id).map((row) => row[w.id]);
  if (children.length === 0) return null;
  return (
    <Fact name="Children">
      <ActorLinks entity="worker" ids={children} />
    </Fact>
  );
}
