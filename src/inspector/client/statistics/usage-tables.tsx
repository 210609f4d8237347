/** Shows what agents have used over the span: by day, by model and by task. */
import type { ComponentChildren } from 'preact';
import type { UsageLine, UsageStatistics } from '../../statistics/messages.ts';
import { selection } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { count, dollars } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';

export const UsageTables = ({ usage: { days, models, tasks } }: { usage: UsageStatistics }) => (
  <div class="usage-tables">
    <UsageTable title="Cost by day" first="Day in UTC" lines={days} nameOf={(name) => name} />
    <UsageTable title="Cost by model" first="Model" lines={models} nameOf={(name) => <Name value={name} />} />
    {tasks === null ? (
      <p class="muted">The log was cut where it said which worker held which task, so the cost by task is not known.</p>
    ) : (
      <UsageTable title="Cost by task" first="Task" lines={tasks} nameOf={(name) => <TaskName task={name} />} />
    )}
  </div>
);

const TaskName = ({ task }: { task: string }) =>
  task === '(others)' ? (
    task
  ) : (
    <Link to={{ view: 'tasks', ...selection('task', task) }}>
      <Name value={task} />
    </Link>
  );

type TableProps = {
  readonly title: string;
  readonly first: string;
  readonly lines: readonly UsageLine[];
  readonly nameOf: (name: string) => ComponentChildren;
};

/** Dollars only where somebody has reported them. */
function UsageTable({ title, first, lines, nameOf }: TableProps) {
  const isInDollars = lines.some(({ usd }) => usd > 0);
  return (
    <div class="check-table">
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
      <section class="scroller" tabIndex={0} aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{first}</th>
              {isInDollars && <th scope="col">Cost</th>}
              <th scope="col">Tokens</th>
              <th scope="col" title="Tokens that were read from a cache count towards no budget">
                Cached
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, usd, tokens, cacheRead }) => (
              <tr key={name} data-usage={name ?? ''}>
                <th scope="row">{name === null ? <span class="muted">none</span> : nameOf(name)}</th>
                {isInDollars && <td>{usd === 0 ? '–' : dollars(usd)}</td>}
                <td>{count(tokens)}</td>
                <td>{cacheRead === 0 ? '–' : count(cacheRead)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
