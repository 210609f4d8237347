/** The tables of checks (failures, flakiness, duration, blocked stops) and of usage by day, agent, model and task. */
import type { ComponentChildren } from 'preact';
import { createDurationWriter } from '../../axes.ts';
import type { CheckStatistics, FleetStatistics, UsageLine, UsageStatistics } from '../../messages.ts';
import { others } from '../../statistics/spans.ts';
import { selection } from '../route.ts';
import { Link } from '../ui/controls.tsx';
import { compact, count, dollars } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';
import { toEntries } from './chart.tsx';
import { flakyText, passedText } from './shares.ts';
import { dayMs, writeSpan } from './span.ts';

/** The outcomes of a check that did not pass. */
const failures = 'outcome:fail,error,timeout';

export function CheckTable({ statistics }: { statistics: FleetStatistics }) {
  const { checks } = statistics;
  if (checks.length === 0) return <p class="muted">No checks ran, and none blocked a stop.</p>;
  const { unit, write } = createDurationWriter(checks.flatMap(({ p95Ms }) => p95Ms ?? []));
  return (
    <div class="check-table">
      <h3>Checks</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
      <section class="scroller" tabIndex={0} aria-label="Checks">
        <table>
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Failed</th>
              <th scope="col">Flaky</th>
              <th scope="col">Runs</th>
              <th scope="col">Passed</th>
              <th scope="col">Errors</th>
              <th scope="col">p95, {unit}</th>
              <th scope="col">Blocked stops</th>
            </tr>
          </thead>
          <tbody>
            {checks.map((check) => (
              <Row key={check.check} counts={check} statistics={statistics} write={write} />
            ))}
          </tbody>
        </table>
      </section>
      <dl class="words muted">
        <dt>Flaky</dt>
        <dd>
          Two runs on the same work with different results: on the same tree if the checker names it, otherwise of a
          worker that changed nothing in between. “not known” means that there are no two such runs.
        </dd>
        <dt>Errors</dt>
        <dd>The check timed out or could not be run.</dd>
        <dt>p95</dt>
        <dd>95% of the runs took no longer than this.</dd>
      </dl>
    </div>
  );
}

type RowProps = {
  readonly counts: CheckStatistics;
  readonly statistics: FleetStatistics;
  readonly write: (ms: number) => string;
};

function Row({ counts, statistics, write }: RowProps) {
  const { check, runs, failed, errors, p95Ms, differing, compared, blocks } = counts;
  const to = (words: string) => toEntries(statistics, null, `type:check.finished check:${check} ${words}`.trim());
  const isOne = check !== others;
  const bad = failed + errors;
  return (
    <tr data-check={check}>
      <th scope="row">
        {isOne ? (
          <Link to={to(bad > 0 ? failures : '')} title={bad > 0 ? 'Its failures' : 'Its runs'}>
            <Name value={check} />
          </Link>
        ) : (
          check
        )}
      </th>
      <td>{bad > 0 && isOne ? <Link to={to(failures)}>{count(bad)}</Link> : orNothing(bad)}</td>
      <td data-flaky={differing > 0 || undefined}>
        {compared === 0 ? <span class="muted">not known</span> : flakyText(counts)}
      </td>
      <td>{runs > 0 && isOne ? <Link to={to('')}>{count(runs)}</Link> : orNothing(runs)}</td>
      <td>{passedText(counts)}</td>
      <td>{orNothing(errors)}</td>
      <td>{p95Ms === null ? '–' : write(p95Ms)}</td>
      <td>{orNothing(blocks)}</td>
    </tr>
  );
}

const orNothing = (number: number): string => (number === 0 ? '–' : count(number));

export const UsageTables = ({ usage: { days, workers, models, tasks } }: { usage: UsageStatistics }) => (
  <div class="usage-tables">
    <UsageTable title="Cost by day" first="Day in UTC" lines={days} nameOf={(name) => <Day day={name} />} />
    <UsageTable title="Cost by agent" first="Agent" lines={workers} nameOf={(name) => <WorkerName worker={name} />} />
    <UsageTable title="Cost by model" first="Model" lines={models} nameOf={(name) => <Name value={name} />} />
    {tasks === null ? (
      <p class="muted">The log no longer shows which worker held which task, so the cost by task is not known.</p>
    ) : (
      <UsageTable title="Cost by task" first="Task" lines={tasks} nameOf={(name) => <TaskName task={name} />} />
    )}
  </div>
);

/** A day leads to what was used on it, by agent. */
const Day = ({ day }: { day: string }) => {
  const fromMs = Date.parse(day);
  return <Link to={{ span: writeSpan({ fromMs, toMs: fromMs + dayMs }) }}>{day}</Link>;
};

const WorkerName = ({ worker }: { worker: string }) =>
  worker === others ? (
    worker
  ) : (
    <Link to={{ view: 'workers', span: '', ...selection('worker', worker) }}>
      <Name value={worker} />
    </Link>
  );

const TaskName = ({ task }: { task: string }) =>
  task === others ? (
    task
  ) : (
    <Link to={{ view: 'tasks', ...selection('task', task) }}>
      <Name value={task} />
    </Link>
  );

/** Large numbers are shortened, so that the column fits. */
const Tokens = ({ number }: { number: number }) => (
  <td title={count(number)}>{number < 100_000 ? orNothing(number) : compact(number)}</td>
);

type TableProps = {
  readonly title: string;
  readonly first: string;
  readonly lines: readonly UsageLine[];
  readonly nameOf: (name: string) => ComponentChildren;
};

/** Shows dollars only if any were reported. */
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
              <th scope="col" title="Tokens read from a cache do not count towards budgets">
                Cached
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, usd, tokens, cacheRead }) => (
              <tr key={name} data-usage={name ?? ''}>
                <th scope="row">{name === null ? <span class="muted">none</span> : nameOf(name)}</th>
                {isInDollars && <td>{usd === 0 ? '–' : dollars(usd)}</td>}
                <Tokens number={tokens} />
                <Tokens number={cacheRead} />
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
