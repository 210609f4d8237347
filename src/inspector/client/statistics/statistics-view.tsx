/** The fleet over the last hour, day or week: small multiples on one time axis, and a table of the checks. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FleetStatistics } from '../../statistics/messages.ts';
import { verdictWords } from '../../vocabulary.ts';
import { askPatiently, fleet, type Progress } from '../data/api.ts';
import { navigate, route } from '../route.ts';
import { FoldProgress } from '../ui/controls.tsx';
import { count, dateTime, dollars, duration, millis } from '../ui/format.ts';
import { Bars, CheckTable, type Picking, type Series, showEntries } from './bars.tsx';
import { UsageTables } from './usage-tables.tsx';
import './statistics.css';

export const spans = ['hour', 'day', 'week'] as const;

/** The service only counts what is new. */
const refreshMs = 5_000;

/** The statistics of a span: counted by the service, and again from time to time while they are shown. */
export function useStatistics(span: (typeof spans)[number]) {
  const [statistics, setStatistics] = useState<FleetStatistics | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [cancel, setCancel] = useState<() => void>(() => () => {});
  useEffect(() => {
    if (fleet.value === '') return;
    const asked = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        if (!document.hidden) {
          setStatistics(
            await askPatiently<FleetStatistics>(`statistics?span=${span}`, undefined, asked.signal, setProgress),
          );
          setProblem(null);
        }
      } catch (error) {
        setProblem(asked.signal.aborted ? 'It was cancelled. Choose a span to count again.' : (error as Error).message);
      }
      setProgress(null);
      if (!asked.signal.aborted) timer = setTimeout(() => void load(), refreshMs);
    };
    setCancel(() => () => asked.abort());
    void load();
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [span, fleet.value]);
  return { statistics: statistics?.span === span ? statistics : null, problem, progress, cancel };
}

export function StatisticsView() {
  const span = spans.find((it) => it === route.value.span) ?? 'hour';
  const { statistics, problem, progress, cancel } = useStatistics(span);
  return (
    <section class="statistics" aria-label="History of the fleet">
      <fieldset class="spans">
        <legend class="sr-only">Span of time</legend>
        {spans.map((it) => (
          <button
            key={it}
            type="button"
            aria-pressed={it === span}
            onClick={() => navigate({ span: it === 'hour' ? '' : it }, 'replace')}
          >
            Last {it}
          </button>
        ))}
        {progress !== null && <FoldProgress progress={progress} cancel={cancel} />}
      </fieldset>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {statistics === null ? problem === null && <p class="muted pad">Counting…</p> : <Shown statistics={statistics} />}
    </section>
  );
}

function Shown({ statistics }: { statistics: FleetStatistics }) {
  const { buckets, knownFromMs, span } = statistics;
  const [picked, setPicked] = useState<number | null>(null);
  const at = picked === null ? null : (buckets[Math.min(picked, buckets.length - 1)] ?? null);
  if (buckets.every(isEmpty)) return <Nothing span={span} knownFromMs={knownFromMs} />;
  return (
    <>
      {knownFromMs !== null && (
        <p class="muted">Counted from {dateTime(knownFromMs)} on: the log holds nothing earlier.</p>
      )}
      <TimePicker statistics={statistics} picked={picked} pick={setPicked} />
      <div class="multiples">
        {multiplesOf(statistics, at).map(({ title, value, series, note }) => (
          <Multiple key={title} title={title} value={value} note={note}>
            <Bars {...{ statistics, series, picked, pick: setPicked }} label={`${title}: ${value}`} />
          </Multiple>
        ))}
      </div>
      {statistics.usage !== null && <UsageTables usage={statistics.usage} />}
      <CheckTable checks={statistics.checks} />
    </>
  );
}

type Buckets = FleetStatistics['buckets'];
type MultipleProps = {
  readonly title: string;
  /** The value at the picked time, or over the whole span. */
  readonly value: string;
  readonly note: ComponentChildren;
};

const isEmpty = ({ verdicts, escalations, resolved, checkMs, usd, tokens }: Buckets[number]): boolean =>
  Object.values(verdicts).every((it) => it === 0) && escalations + resolved + checkMs + usd + tokens === 0;

const Nothing = ({ span, knownFromMs }: { span: string; knownFromMs: number | null }) => (
  <div class="empty">
    <h2>No stops in the last {span}</h2>
    <p>
      {knownFromMs === null
        ? 'They are counted here as soon as an agent tries to stop.'
        : `The log has nothing before ${dateTime(knownFromMs)}.`}
    </p>
    <p class="buttons">
      {span !== 'week' && (
        <button type="button" onClick={() => navigate({ span: 'week' }, 'replace')}>
          Look at the last week
        </button>
      )}
      <button type="button" onClick={() => navigate({ view: 'workers' })}>
        Show the workers
      </button>
    </p>
  </div>
);

const Multiple = ({ title, value, note, children }: MultipleProps & { children: ComponentChildren }) => (
  <figure class="multiple">
    <figcaption>
      <b>{title}</b> <span class="value">{value}</span>
    </figcaption>
    {children}
    {note !== null && <p class="note">{note}</p>}
  </figure>
);

/** The keyboard's way to a time; the pointer's is over the bars. */
function TimePicker({ statistics, picked, pick }: Picking & { readonly statistics: FleetStatistics }) {
  const { buckets, bucketMs } = statistics;
  const at = buckets[picked ?? buckets.length - 1]?.atMs ?? 0;
  const text = picked === null ? 'the whole span' : `${dateTime(at)}, ${duration(bucketMs)}`;
  return (
    <div class="time-picker">
      <input
        type="range"
        aria-label="Time"
        aria-valuetext={text}
        min={0}
        max={buckets.length - 1}
        value={picked ?? buckets.length - 1}
        onInput={(event) => pick(Number(event.currentTarget.value))}
      />
      <output>{text}</output>
      {picked !== null && (
        <>
          <button type="button" onClick={() => showEntries(statistics, picked)}>
            Its entries
          </button>
          <button type="button" onClick={() => pick(null)}>
            Whole span
          </button>
        </>
      )}
    </div>
  );
}

const sum = (buckets: Buckets, of: (bucket: Buckets[number]) => number): number =>
  buckets.reduce((total, bucket) => total + of(bucket), 0);

/** Writes a duration, in ms if it is under a second. */
const spent = (ms: number): string => (ms > 0 && ms < 1_000 ? millis(ms) : duration(ms));

function multiplesOf(
  { buckets, resolveMs, usage }: FleetStatistics,
  at: Buckets[number] | null,
): (MultipleProps & { readonly series: readonly Series[] })[] {
  const within = at === null ? buckets : [at];
  const kinds = (Object.keys(verdictWords) as (keyof typeof verdictWords)[]).map((kind) => ({
    ...{ name: verdictWords[kind], kind },
    values: buckets.map(({ verdicts }) => verdicts[kind]),
    total: sum(within, ({ verdicts }) => verdicts[kind]),
  }));
  const guards = [...new Set(buckets.flatMap(({ guards: all }) => Object.keys(all)))]
    .map((guard) => ({ guard, all: sum(buckets, (it) => it.guards[guard] ?? 0) }))
    .sort((a, b) => b.all - a.all);
  const resolved = at === null ? resolveMs.p50 : at.resolveMs;
  return [
    {
      title: 'Stops',
      value: count(kinds.reduce((all, { total }) => all + total, 0)),
      series: kinds,
      note: <Legend entries={kinds} />,
    },
    {
      title: 'Time in checks',
      value: spent(sum(within, (it) => it.checkMs)),
      series: [{ name: 'time in checks', kind: 'plain', values: buckets.map((it) => it.checkMs) }],
      note: null,
    },
    {
      title: 'Escalations',
      value: count(sum(within, (it) => it.escalations)),
      series: [{ name: 'escalations', kind: 'escalated', values: buckets.map((it) => it.escalations) }],
      note: `${count(sum(within, (it) => it.resolved))} resolved${
        resolved === null ? '' : `, half of them within ${duration(resolved)}`
      }`,
    },
    {
      title: 'Not judged',
      value: count(sum(within, (it) => it.verdicts.unjudged)),
      series: [{ name: 'not judged', kind: 'unjudged', values: buckets.map((it) => it.verdicts.unjudged) }],
      note: null,
    },
    ...(usage === null ? [] : [costOf(buckets, within)]),
    ...guards.map(({ guard }) => ({
      title: `Blocked by ${guard}`,
      value: count(sum(within, (it) => it.guards[guard] ?? 0)),
      series: [{ name: guard, kind: 'blocked', values: buckets.map((it) => it.guards[guard] ?? 0) }] as const,
      note: null,
    })),
  ];
}

/** In dollars where somebody reports them, else in tokens. */
function costOf(buckets: Buckets, within: Buckets): MultipleProps & { readonly series: readonly Series[] } {
  const [usd, tokens] = [sum(within, (it) => it.usd), sum(within, (it) => it.tokens)];
  const isInDollars = sum(buckets, (it) => it.usd) > 0;
  return {
    title: isInDollars ? 'Cost' : 'Tokens',
    value: isInDollars ? dollars(usd) : count(tokens),
    series: [{ name: 'cost', kind: 'plain', values: buckets.map((it) => (isInDollars ? it.usd : it.tokens)) }],
    note: isInDollars ? `${count(tokens)} tokens` : 'no agent reports dollars',
  };
}

const Legend = ({ entries }: { entries: readonly (Series & { readonly total: number })[] }) => (
  <span class="legend">
    {entries
      .filter(({ total }) => total > 0)
      .map(({ name, kind, total }) => (
        <span key={kind} data-verdict-kind={kind}>
          <i class="swatch" aria-hidden="true" />
          {name} <b>{count(total)}</b>
        </span>
      ))}
  </span>
);
