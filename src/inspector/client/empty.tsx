import { isPast } from './past.ts';

const lines = [
  `npx stopgate publish worker w1 step.updated '{"step":"1","title":"Write tests"}'`,
  'npx stopgate decide w1',
  `npx stopgate publish worker w1 step.updated '{"step":"1","status":"done"}'`,
];

export function Empty() {
  if (isPast.value)
    return (
      <div class="empty">
        <h2>Nobody was here yet</h2>
        <p>At this entry of the log no worker was known. Go on to a later one.</p>
      </div>
    );
  return (
    <div class="empty">
      <h2>No workers yet</h2>
      <p>
        A worker appears with the first word about it. Paste these three lines into a terminal in the folder of the
        service:
      </p>
      <pre>{lines.join('\n')}</pre>
      <p class="muted">
        It plans a step, asks whether it may stop, and has done the step. This page follows by itself.
      </p>
    </div>
  );
}
