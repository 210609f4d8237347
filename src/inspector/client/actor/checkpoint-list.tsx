/** The checkpoints of a task, newest first. */
import type { TaskView } from '../../../../machines/index.ts';
import { Ago } from '../ui/age.tsx';
import { Text } from '../ui/text.tsx';

export function CheckpointList({ checkpoints }: Pick<TaskView, 'checkpoints'>) {
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
            <span class="muted">
              <Ago thenMs={Date.parse(it.at)} />
            </span>
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
