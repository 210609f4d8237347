/** All entries of the log, newest first, live or up to the moment shown, filtered by the search text. */

import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EntriesPage, TimelineEntry } from '../../messages.ts';
import { Line, useWithheld } from '../actor/timeline.tsx';
import { fleet, get } from '../data/api.ts';
import { connection, head, nowMs } from '../data/connection.ts';
import { addPage, type EntryPages, endText, noEntries } from '../data/entry-pages.ts';
import { newestSeq } from '../data/outline.ts';
import { moment, shownMs } from '../data/past.ts';
import { navigate, route } from '../route.ts';
import { Button, Problem } from '../ui/controls.tsx';
import { count, dateTime, duration, zone } from '../ui/format.ts';
import { DayHeading } from '../ui/text.tsx';
import { type Filter, readFilter, toQuery, withWord } from './entries-filter.ts';

const pageSize = 100;
/** Maximum number of entries on the page. */
const entriesMax = 2_000;
const refreshMs = 1_000;

function useEntries(filter: Filter, seq: number | null) {
  const [loaded, setLoaded] = useState<EntryPages>(noEntries);
  /** The log has been searched back to this entry. */
  const [readTo, setReadTo] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(true);
  const wanted = toQuery(filter);
  const newest = seq === null ? '' : `&before=${seq + 1}`;
  const read = (query: string, signal?: AbortSignal) =>
    get<EntriesPage>(`entries?limit=${pageSize}${wanted}${query}`, signal);
  const show = (page: EntriesPage) => {
    setLoaded((old) => addPage(old, page, entriesMax));
    setReadTo(page.readTo);
    setProblem(null);
  };
  const fail = (error: Error) => {
    if (error.name !== 'AbortError') setProblem(error.message);
  };
  useEffect(() => {
    if (fleet.value === '') return;
    const asked = new AbortController();
    let seen = head.peek().seq;
    setBusy(true);
    const refresh = async () => {
      seen = head.peek().seq;
      show(await read(newest, asked.signal));
    };
    setLoaded(noEntries);
    setProblem(null);
    void refresh()
      .catch(fail)
      .finally(() => setBusy(false));
    const timer = setInterval(() => {
      if (seq === null && connection.peek() === 'live' && head.peek().seq > seen) void refresh().catch(fail);
    }, refreshMs);
    return () => {
      asked.abort();
      clearInterval(timer);
    };
  }, [wanted, seq, fleet.value]);
  const loadOlder = () => {
    setBusy(true);
    void read(`&before=${loaded.before}`)
      .then(show, fail)
      .finally(() => setBusy(false));
  };
  return { ...loaded, readTo, problem, busy, loadOlder };
}

export function EntriesView() {
  const { q, at } = route.value;
  const filter = readFilter(q, nowMs.peek());
  const { entries, before, readTo, problem, busy, loadOlder } = useEntries(filter, at);
  const { shown, withheld, area } = useWithheld(entries);
  return (
    <section class="timeline entries" aria-label="Entries">
      <EntriesSearch filter={filter} />
      <p class="muted" role="status">
        {at === null ? `Newest first, times in ${zone(nowMs.peek())}` : `Up to entry ${count(at)}${momentText(at)}`}
        {filter.from !== null && ` · ${rangeText(filter.from, filter.to ?? shownMs.value)}`}
        {withheld > 0 && ` · ${withheld} new, shown when you leave`}
      </p>
      {at !== null && at < newestSeq.value && (
        <p class="row">
          <Button onClick={() => navigate({ at: Math.min(newestSeq.value, at + pageSize) }, 'replace')}>
            Later entries
          </Button>
        </p>
      )}
      <Problem text={problem} />
      {!busy && entries.length === 0 && problem === null && (
        <p class="muted">
          {before === null ? 'No matches.' : `No matches back to entry ${count(readTo)}.`}{' '}
          {q !== '' && <Button onClick={() => navigate({ q: '' })}>Show all</Button>}
        </p>
      )}
      <ol {...area}>
        {shown.toReversed().map((entry, index, all) => (
          <Fragment key={entry.seq}>
            <DayHeading atMs={entry.atMs} previousMs={all[index - 1]?.atMs} />
            <Line entry={entry} withActor />
          </Fragment>
        ))}
      </ol>
      {busy && <p class="muted">Reading the log…</p>}
      {!busy && entries.length >= entriesMax && (
        <p class="muted">The page shows at most {count(entriesMax)} entries. Add “to:” and a time to see older ones.</p>
      )}
      {!busy && before !== null && entries.length < entriesMax && (
        <Button onClick={loadOlder}>{entries.length === 0 ? 'Search further back' : 'Older entries'}</Button>
      )}
      {!busy && before === null && entries.length > 0 && <p class="muted">{endText(shown.length)}</p>}
    </section>
  );
}

const momentText = (seq: number): string =>
  moment.value?.seq === seq && moment.value.atMs > 0 ? `, ${dateTime(shownMs.value)}` : '';

/** A range of time, and how long it is. */
const rangeText = (fromMs: number, toMs: number): string =>
  toMs > fromMs ? `${duration(toMs - fromMs)} from ${dateTime(fromMs)}` : 'the range ends before it begins';

/** Common types. Any other can be typed. */
const types: readonly TimelineEntry['type'][] = [
  'stop.attempted',
  'decision',
  'check.finished',
  'escalation.resolved',
  'escalation.acknowledged',
  'input.requested',
  'input.answered',
  'prompt.submitted',
  'tool.used',
  'plan.updated',
  'task.created',
  'task.claimed',
  'task.completed',
  'worker.registered',
  'session.ended',
  'policy.set',
  'timer.fired',
];

const EntriesSearch = ({ filter }: { filter: Filter }) => (
  <search class="row filters">
    <input
      type="search"
      aria-label="Search entries"
      placeholder="text  type:stop.attempted  worker:w1  task:T-1  check:tests  from:02:00  to:02:30"
      value={route.value.q}
      onInput={(event) => navigate({ q: event.currentTarget.value }, 'replace')}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return;
        event.preventDefault();
        document.querySelector<HTMLElement>('.entries .line summary')?.focus();
      }}
    />
    <select
      aria-label="type"
      value={filter.type ?? ''}
      onChange={(event) => navigate({ q: withWord(route.value.q, 'type', event.currentTarget.value) })}
    >
      <option value="">any type</option>
      {[...new Set([...types, ...(filter.type === null ? [] : [filter.type])])].map((type) => (
        <option key={type}>{type}</option>
      ))}
    </select>
  </search>
);
