/** The hooks of a task, with the last result of each. Removed hooks stay listed as long as their results are known. */
import type { TaskView } from '../../../../machines/index.ts';
import { Ago } from '../ui/age.tsx';
import { millis, plural } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';

type Stats = TaskView['hookStats'][number];

export function HookList({ view: { hooks, hookStats } }: { view: TaskView }) {
  if (hooks.length === 0 && hookStats.length === 0) return null;
  const removed = hookStats.filter((it) => !hooks.some(({ hook }) => hook === it.hook));
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
              <b>
                <Text value={hook} max={60} />
              </b>{' '}
              <span class="tag">{type}</span>
              {mark !== null && <span class="tag">{mark}</span>}
            </p>
            <HookResults stats={hookStats.find((it) => it.hook === hook)} />
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
