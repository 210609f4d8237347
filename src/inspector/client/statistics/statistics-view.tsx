/** The history of the fleet over a span of time: a summary, small charts, and tables of checks and costs. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FleetStatistics } from '../../messages.ts';
import type { Span, TimeRange } from '../../statistics/spans.ts';
import { verdictWords } from '../../vocabulary.ts';
import { askPatiently, fleet, type Progress } from '../data/api.ts';
import { nowMs } from '../data/connection.ts';
import { navigate, route } from '../route.ts';
import { Button, FoldProgress, Link, Problem } from '../ui/controls.tsx';
import { count, dateTime, dollars, duration, localTime, millis, plural } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';
import { Chart, type Counting, timeOf, toEntries } from './chart.tsx';
import { RangePicker, show } from './range-picker.tsx';
import { RulesTable } from './rules-table.tsx';
import { flakyText } from './shares.ts';
import { querySpan, readSpan, spanTitles } from './span.ts';
import { CheckTable, UsageTables } from './tables.tsx';
import './statistics.css';

/** Refreshing is cheap, because the service counts only new entries. */
const refreshMs = 5_000;

/** Loads the statistics of a span, and refreshes them while they may change. */
function useStatistics(span: Span | TimeRange) {
  const query = querySpan(span);
  const [counted, setCounted] = useState<{ query: string; statistics: FleetStatistics } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [cancel, setCancel] = useState<() => void>(() => () => {});
  useEffect(() => {
    if (fleet.value === '') return;
    const asked = new AbortController();
    let isLeft = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    setProblem(null);
    const load = async () => {
      let isLast = false;
      try {
        if (!document.hidden) {
          const path = `statistics?${query}`;
          const statistics = await askPatiently<FleetStatistics>(path, undefined, asked.signal, setProgress);
          setCounted({ query, statistics });
          setProblem(null);
          isLast = statistics.span === 'custom' && statistics.toMs < nowMs.peek();
        }
      } catch (error) {
        if (isLeft) return;
        setProblem(asked.signal.aborted ? 'Cancelled. Choose a span to count again.' : (error as Error).message);
      }
      setProgress(null);
      if (!asked.signal.aborted && !isLast) timer = setTimeout(() => void load(), refreshMs);
    };
    setCancel(() => () => asked.abort());
    void load();
    return () => {
      isLeft = true;
      clearTimeout(timer);
      asked.abort();
    };
  }, [query, fleet.value]);
  return { statistics: counted?.query === query ? counted.statistics : null, problem, progress, cancel };
}

export function StatisticsView() {
  const span = readSpan(route.value.span);
  const { statistics, problem, progress, cancel } = useStatistics(span);
  return (
    <section class="statistics" aria-label="History of the fleet">
      <RangePicker span={span} />
      {progress !== null && <FoldProgress progress={progress} cancel={cancel} />}
      <Problem text={problem} />
      {statistics === null ? problem === null && <p class="muted pad">Counting…</p> : <Shown statistics={statistics} />}
    </section>
  );
}

function Shown({ statistics }: { statistics: FleetStatistics }) {
  const { buckets, knownFromMs, usage } = statistics;
  const [picked, setPicked] = useState<number | null>(null);
  const index = picked === null ? null : Math.min(picked, buckets.length - 1);
  if (buckets.every(isEmpty)) return <Nothing statistics={statistics} />;
  return (
    <>
      <Headline statistics={statistics} />
      {knownFromMs !== null && <p class="muted">Counted since {dateTime(knownFromMs)}: the log has nothing earlier.</p>}
      <ShownTime statistics={statistics} picked={index} />
      <div class="multiples">
        {multiplesOf(statistics, index).map(({ title, value, note, ...counting }) => (
          <figure key={title} class="multiple">
            <figcaption>
              <b>{title}</b>{' '}
              <Link
                class="value strong"
                to={toEntries(statistics, index, counting.entries)}
                title="Show the counted entries"
              >
                {value}
              </Link>
            </figcaption>
            <Chart {...counting} statistics={statistics} picked={index} pick={setPicked} label={`${title}: ${value}`} />
            {note !== null && <p class="note muted">{note}</p>}
          </figure>
        ))}
      </div>
      <CheckTable statistics={statistics} />
      <RulesTable />
      {usage !== null && <UsageTables usage={usage} />}
    </>
  );
}

type Buckets = FleetStatistics['buckets'];
/** `value` is the value at the picked time, or over the whole span. */
type Multiple = Counting & { readonly value: string; readonly note: ComponentChildren };

const isEmpty = ({ verdicts, escalations, resolved, checkMs, usd, tokens }: Buckets[number]): boolean =>
  Object.values(verdicts).every((count) => count === 0) && escalations + resolved + checkMs + usd + tokens === 0;

/** Describes the time shown. */
const whenOf = ({ span, fromMs, toMs }: FleetStatistics): string =>
  span === 'custom'
    ? `in the ${duration(toMs - fromMs)} from ${localTime(fromMs)} to ${dateTime(toMs)}`
    : `in the ${spanTitles[span].toLowerCase()}`;

/** What an operator asks first: how many stops, how many were blocked, and which check is flaky. */
function Headline({ statistics }: { statistics: FleetStatistics }) {
  const { buckets, checks } = statistics;
  const of = (kind: keyof typeof verdictWords) => sum(buckets, ({ verdicts }) => verdicts[kind]);
  const all = sum(buckets, ({ verdicts }) => Object.values(verdicts).reduce((total, count) => total + count, 0));
  const flaky = checks.filter(({ differing }) => differing > 0).sort((a, b) => shareOf(b) - shareOf(a))[0];
  return (
    <p class="headline">
      {plural(all, 'stop')} {whenOf(statistics)}: {count(of('blocked'))} blocked, {count(of('escalated'))} escalated,{' '}
      {count(of('unjudged'))} not judged.{' '}
      {flaky !== undefined && (
        <>
          The flakiest check is <Name value={flaky.check} />: {flakyText(flaky)} of runs differ.
        </>
      )}
    </p>
  );
}

const shareOf = ({ differing, compared }: FleetStatistics['checks'][number]): number => differing / compared;

const Nothing = ({ statistics }: { statistics: FleetStatistics }) => (
  <div class="empty">
    <h2>No stops {whenOf(statistics)}</h2>
    <p>
      {statistics.knownFromMs !== null
        ? `The log has nothing before ${dateTime(statistics.knownFromMs)}.`
        : statistics.toMs < nowMs.peek() - refreshMs
          ? 'No agent tried to stop then.'
          : 'They are counted here as soon as an agent tries to stop.'}
    </p>
    <p class="row buttons">
      {statistics.span !== 'week' && <Button onClick={() => show('week', 'replace')}>Look at the last 7 days</Button>}
      <Button onClick={() => navigate({ view: 'workers', span: '' })}>Show the workers</Button>
    </p>
  </div>
);

/** The time under the pointer, or the whole time. A click on a bar shows its entries, and a drag only that time. */
function ShownTime({ statistics, picked }: { statistics: FleetStatistics; picked: number | null }) {
  const { fromMs, toMs } = timeOf(statistics, picked ?? 0, picked ?? statistics.buckets.length - 1);
  return (
    <p class="row time-shown">
      <output>{`${dateTime(fromMs)}, ${duration(toMs - fromMs)}`}</output>
    </p>
  );
}

const sum = (buckets: Buckets, of: (bucket: Buckets[number]) => number): number =>
  buckets.reduce((total, bucket) => total + of(bucket), 0);

/** Formats a duration, in ms if it is below a second. */
const spent = (ms: number): string => (ms > 0 && ms < 1_000 ? millis(ms) : duration(ms));

/** Titles for the blocks by each guard. */
const guardWords: Readonly<Record<string, string>> = {
  checks: 'Blocked: a check failed',
  hooks: 'Blocked: the task is not done',
  pending: 'Blocked: tasks are waiting',
  idle: 'Blocked: a task may still come',
  policy: 'Blocked: other reasons',
};

function multiplesOf(statistics: FleetStatistics, picked: number | null): Multiple[] {
  const { buckets, resolveMs, usage } = statistics;
  const pickedBucket = picked === null ? null : (buckets[picked] ?? null);
  const within = pickedBucket === null ? buckets : [pickedBucket];
  const kinds = (Object.keys(verdictWords) as (keyof typeof verdictWords)[]).map((kind) => ({
    name: verdictWords[kind],
    kind,
    values: buckets.map(({ verdicts }) => verdicts[kind]),
    total: sum(within, ({ verdicts }) => verdicts[kind]),
  }));
  const toKind = (kind: string) => toEntries(statistics, picked, `type:decision outcome:${kind}`);
  const guards = [...new Set(buckets.flatMap(({ guards: all }) => Object.keys(all)))]
    .map((guard) => ({ guard, all: sum(buckets, (bucket) => bucket.guards[guard] ?? 0) }))
    .sort((a, b) => b.all - a.all);
  const resolved = pickedBucket === null ? resolveMs.p50 : pickedBucket.resolveMs;
  return [
    {
      title: 'Stops',
      unit: 'count',
      series: kinds,
      value: count(kinds.reduce((all, { total }) => all + total, 0)),
      entries: `type:decision outcome:${Object.keys(verdictWords).join(',')}`,
      note: (
        <span class="row legend">
          {kinds
            .filter(({ values }) => values.some((value) => value > 0))
            .map(({ name, kind, total }) => (
              <Link key={kind} to={toKind(kind)} data-verdict-kind={kind}>
                <i class="swatch" aria-hidden="true" />
                {name} <b>{count(total)}</b>
              </Link>
            ))}
        </span>
      ),
    },
    ...guards.map(({ guard }): Multiple => {
      const [title, entries] = [
        guardWords[guard] ?? `Blocked by ${guard}`,
        `type:decision outcome:blocked guard:${guard}`,
      ];
      return { title, entries, ...oneSeries('blocked', (bucket) => bucket.guards[guard] ?? 0), note: null };
    }),
    {
      title: 'Escalations',
      entries: 'type:decision outcome:escalated',
      ...oneSeries('escalated', (bucket) => bucket.escalations),
      note: `${count(sum(within, (bucket) => bucket.resolved))} resolved${
        resolved === null ? '' : `, half of them within ${duration(resolved)}`
      }`,
    },
    ...(buckets.some(({ verdicts }) => verdicts.unjudged > 0)
      ? [
          {
            title: 'Not judged',
            entries: 'type:decision outcome:unjudged',
            ...oneSeries('unjudged', (bucket) => bucket.verdicts.unjudged),
            note: null,
          },
        ]
      : []),
    {
      title: 'Time in checks',
      unit: 'ms',
      entries: 'type:check.finished',
      note: null,
      value: spent(sum(within, (bucket) => bucket.checkMs)),
      series: [{ name: 'time in checks', kind: 'plain', values: buckets.map((bucket) => bucket.checkMs) }],
    },
    ...(usage === null ? [] : [costOf(buckets, within)]),
  ];

  function oneSeries(
    kind: string,
    of: (bucket: Buckets[number]) => number,
  ): Pick<Multiple, 'unit' | 'value' | 'series'> {
    return { unit: 'count', value: count(sum(within, of)), series: [{ name: kind, kind, values: buckets.map(of) }] };
  }
}

/** In dollars if any were reported, otherwise in tokens. */
function costOf(buckets: Buckets, within: Buckets): Multiple {
  const [usd, tokens] = [sum(within, (bucket) => bucket.usd), sum(within, (bucket) => bucket.tokens)];
  const isInDollars = sum(buckets, (bucket) => bucket.usd) > 0;
  return {
    title: isInDollars ? 'Cost' : 'Tokens',
    entries: 'type:usage.reported',
    unit: isInDollars ? 'usd' : 'count',
    value: isInDollars ? dollars(usd) : count(tokens),
    series: [
      { name: 'cost', kind: 'plain', values: buckets.map((bucket) => (isInDollars ? bucket.usd : bucket.tokens)) },
    ],
    note: isInDollars ? `${count(tokens)} tokens` : 'no agent reports dollars',
  };
}
