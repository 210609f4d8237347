/** The entries and decisions of one actor, newest first. Periods without entries are collapsed to a line. */
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Decision } from '../../../../machines/index.ts';
import type { TimelineEntry, TimelinePage } from '../../messages.ts';
import { get } from '../data/api.ts';
import { focus, gap } from '../data/connection.ts';
import { addPage, type EntryPages, noEntries } from '../data/entry-pages.ts';
import { isPast } from '../data/past.ts';
import { route } from '../route.ts';
import { Button, Link } from '../ui/controls.tsx';
import { dateTime, duration, inLocalTime, time } from '../ui/format.ts';
import { DayHeading, Excerpt, Json } from '../ui/text.tsx';
import { useHeld } from '../ui/use-held.ts';
import { Answer } from './attempts.tsx';
import { DecisionCard } from './decision-card.tsx';

const pageSize = 60;
const entriesMax = 3_000;

/**
 * Loads the entries of one actor in pages, and adds new ones from the stream.
 * @param version changes when the stream may not have sent all: it has the entries of a task's present holder only
 */
function useTimeline(entity: 'worker' | 'task', id: string, version: unknown) {
  const [loaded, setLoaded] = useState<EntryPages>(noEntries);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(true);
  const at = route.value.at;
  const load = async (before: number | null) => {
    setBusy(true);
    try {
      const page = await get<TimelinePage>(
        `timeline/${entity}/${id}?limit=${pageSize}${before === null ? '' : `&before=${before}`}`,
      );
      setLoaded((old) => addPage(old, page, entriesMax));
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  useEffect(() => {
    setLoaded(noEntries);
    setProblem(null);
    void load(at === null ? null : at + 1);
  }, [entity, id, at === null]);
  useEffect(() => {
    if (at === null && loaded.entries.length > 0) void load(null);
  }, [version]);
  useEffect(() => {
    const oldest = loaded.entries[0]?.seq;
    // Time travel went back beyond the loaded entries.
    if (at !== null && !busy && loaded.before !== null && oldest !== undefined && at < oldest) void load(at + 1);
  }, [at]);
  useEffect(
    () =>
      focus.subscribe((update) => {
        if (update === null || update.id !== id || isPast.peek()) return;
        if (update.omitted > 0) void load(null);
        else if (update.entries.length > 0)
          setLoaded((old) => addPage(old, { entries: update.entries, before: old.before }, entriesMax));
      }),
    [entity, id],
  );
  return {
    entries: at === null ? loaded.entries : loaded.entries.filter((entry) => entry.seq <= at),
    hasOlder: loaded.before !== null && loaded.entries.length < entriesMax,
    problem,
    busy,
    loadOlder: () => void load(loaded.before),
  };
}

const gapMinMs = 60_000;

type TimelineProps = { readonly entity: 'worker' | 'task'; readonly id: string; readonly version?: unknown };

export function Timeline({ entity, id, version }: TimelineProps) {
  const { entries, hasOlder, problem, busy, loadOlder } = useTimeline(entity, id, version);
  const { shown, withheld, area } = useWithheld(entries);
  const lines = shown.toReversed();
  return (
    <section class="timeline" aria-label="Timeline">
      <h3>Timeline {withheld > 0 && <span class="muted">{withheld} new, shown when you leave</span>}</h3>
      {problem !== null && <p class="problem">{problem}</p>}
      {lines.length === 0 && problem === null && !busy && <p class="muted">No entries yet.</p>}
      {lines.length === 0 && problem === null && busy && <p class="muted timeline-room">Loading…</p>}
      <ol {...area}>
        {lines.map((entry, index) => {
          const later = lines[index - 1];
          const gapMs = later === undefined ? 0 : later.atMs - entry.atMs;
          return (
            <Fragment key={entry.seq}>
              {gapMs >= gapMinMs && <li class="gap muted">{duration(gapMs)} without entries</li>}
              {isPauseBetween(entry, later) && <li class="gap muted">the page was paused here</li>}
              <DayHeading atMs={entry.atMs} previousMs={later?.atMs} />
              <Line entry={entry} withActor={entity === 'task'} />
            </Fragment>
          );
        })}
      </ol>
      {hasOlder && (
        <Button disabled={busy} onClick={loadOlder}>
          {busy ? 'Loading…' : 'Older entries'}
        </Button>
      )}
    </section>
  );
}

/** Withholds new entries while someone uses the list. Older entries are added at the end and move nothing. */
export function useWithheld(entries: readonly TimelineEntry[]) {
  const { shown: newest, area } = useHeld<number | undefined, HTMLOListElement>(entries.at(-1)?.seq, seqText, false);
  const shown = newest === undefined ? entries : entries.filter(({ seq }) => seq <= newest);
  return { shown, withheld: entries.length - shown.length, area };
}

const seqText = (seq: number | undefined): string => String(seq ?? '');

/** Whether the page was paused between two entries. */
const isPauseBetween = (entry: TimelineEntry, later: TimelineEntry | undefined): boolean =>
  gap.value !== null && later !== undefined && entry.seq <= gap.value.fromSeq && later.seq > gap.value.fromSeq;

type LineProps = { readonly entry: TimelineEntry; readonly withActor?: boolean };

export function Line({ entry, withActor = false }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  const { seq, type, by, text, atMs } = entry;
  const decision = type === 'decision' ? (entry.data as Decision) : null;
  return (
    <li class="line" data-by={by} data-type={type} data-seq={seq}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <time class="muted" dateTime={new Date(atMs).toISOString()} title={dateTime(atMs)}>
            {time(atMs)}
          </time>
          {withActor && (
            <span class="actor">
              <span class="muted">{entry.entity}</span> <Excerpt value={entry.id} />
            </span>
          )}
          <span class="type strong">{type}</span>
          {by !== 'agent' && <span class="tag">{by}</span>}
          <span class="text">
            {decision === null ? <Excerpt value={inLocalTime(text)} /> : <Answer decision={decision} />}
          </span>
        </summary>
        {isOpen && <FullEntry entry={entry} isDecision={decision !== null} />}
      </details>
      <Link
        class="seq muted"
        to={{ at: seq }}
        aria-current={route.value.at === seq ? 'true' : undefined}
        title="Show the fleet at this entry"
        aria-label={`Entry ${seq}: show the fleet at this entry`}
      >
        {seq}
      </Link>
    </li>
  );
}

/** Part of the service's mark in a truncated text. */
const truncationMark = '… [truncated: ';

function FullEntry({ entry, isDecision }: { entry: TimelineEntry; isDecision: boolean }) {
  const [data, setData] = useState<object>(entry.data);
  const [problem, setProblem] = useState<string | null>(null);
  const isTruncated = JSON.stringify(data).includes(truncationMark);
  const load = () =>
    get<TimelineEntry>(`entry/${entry.seq}`).then(
      (loaded) => setData(loaded.data),
      (error: Error) => setProblem(error.message),
    );
  return (
    <div class="full">
      {isDecision ? <DecisionCard decision={data as Decision} /> : <Json value={data} />}
      {isTruncated && <Button onClick={() => void load()}>Load the full entry</Button>}
      {problem !== null && <p class="problem">{problem}</p>}
    </div>
  );
}
