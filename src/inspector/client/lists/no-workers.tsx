/** In place of an empty worker list: how to create a worker, or where to go in the past. */
import { isPast } from '../data/past.ts';

const commands = [
  `npx stopgate publish worker w1 step.updated '{"step":"1","title":"Write tests"}'`,
  'npx stopgate decide w1',
  `npx stopgate publish worker w1 step.updated '{"step":"1","status":"done"}'`,
];

export function NoWorkers() {
  if (isPast.value)
    return (
      <div class="empty">
        <h2>No workers at this entry</h2>
        <p>No worker had an entry yet. Go to a later one.</p>
      </div>
    );
  return (
    <div class="empty">
      <h2>No workers yet</h2>
      <p>
        A worker appears with its first entry. Paste these three lines into a terminal, in the folder of the service:
      </p>
      <pre>{commands.join('\n')}</pre>
      <p class="muted">
        They plan a step, ask whether the worker may stop, and mark the step as done. This page updates by itself.
      </p>
    </div>
  );
}
