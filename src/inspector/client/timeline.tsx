/** What was said, asked and decided, the newest first; times in which nothing happened are one line. */
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Decision } from '../../../machines/index.ts';
import type { TimelinePage } from '../messages.ts';
import type { TimelineEntry } from '../timeline.ts';
import { get } from './api.ts';
import { focus } from './connection.ts';
import { DecisionCard } from './decision.tsx';
import { AnswerMark } from './marks.tsx';
import { isPast } from './past.ts';
import { follow, hrefOf, place } from './place.ts';
import { dateTime, duration, time } from './terms.ts';
import { Glimpse, Json } from './text.tsx';

const pageSize = 60;
const idleFromMs = 60_000;
const keptMax = 3_000;

type Known = {
  readonly entries: readonly TimelineEntry[];
  readonly before: number | null;
  readonly problem: string | null;
};

export function Timeline({ entity, id }: { entity: 'worker' | 'task'; id: string }) {
  const { known, older, busy } = useTimeline(entity, id);
  const at = place.value.at;
  const entries = at === null ? known.entries : known.entries.filter((it) => it.seq <= at);
  const lines = [...entries].reverse();
  return (
    <section class="timeline" aria-label="Timeline">
      <h3>Timeline</h3>
      {known.problem !== null && <p class="problem">{known.problem}</p>}
      {lines.length === 0 && known.problem === null && (
        <p class="muted">{busy ? 'Reading…' : 'Nothing was said yet.'}</p>
      )}
      <ol>
        {lines.map((entry, index) => {
          const later = lines[index - 1];
          const gapMs = later === undefined ? 0 : later.atMs - entry.atMs;
          return (
            <Fragment key={entry.seq}>
              {gapMs >= idleFromMs && <li class="idle-gap">{duration(gapMs)} without a word</li>}
              <Line entry={entry} />
            </Fragment>
          );
        })}
      </ol>
      {known.before !== null && (
        <button type="button" disabled={busy} onClick={older}>
          {busy ? 'Reading…' : 'Older entries'}
        </button>
      )}
    </section>
  );
}

function Line({ entry }: { entry: TimelineEntry }) {
  const [isOpen, setOpen] = useState(false);
  const { seq, type, by, text, atMs } = entry;
  const decision = type === 'decision' ? (entry.data as Decision) : null;
  const isHere = place.value.at === seq;
  return (
    <li class="line" data-by={by} data-type={type} data-seq={seq}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <time dateTime={new Date(atMs).toISOString()} title={dateTime(atMs)}>
            {time(atMs)}
          </time>
          <span class="type">{type}</span>
          {by !== 'agent' && <span class="tag">{by}</span>}
          <span class="text">{decision === null ? <Glimpse value={text} /> : <AnswerMark decision={decision} />}</span>
        </summary>
        {isOpen && <Whole entry={entry} decision={decision} />}
      </details>
      <a
        class="seq"
        href={hrefOf({ at: seq })}
        aria-current={isHere ? 'true' : undefined}
        title="See everything as it was here"
        aria-label={`Entry ${seq}: see everything as it was here`}
        onClick={(event) => follow(event, { at: seq })}
      >
        {seq}
      </a>
    </li>
  );
}

const cutMark = '… [cut here: ';

function Whole({ entry, decision }: { entry: TimelineEntry; decision: Decision | null }) {
  const [data, setData] = useState<object>(entry.data);
  const [problem, setProblem] = useState<string | null>(null);
  const isCut = JSON.stringify(data).includes(cutMark);
  const readAll = () =>
    get<TimelineEntry>(`entry/${entry.seq}`).then(
      (it) => setData(it.data),
      (error: Error) => setProblem(error.message),
    );
  return (
    <div class="whole">
      {decision === null ? <Json value={data} /> : <DecisionCard decision={data as Decision} />}
      {isCut && (
        <button type="button" onClick={() => void readAll()}>
          Get the whole entry
        </button>
      )}
      {problem !== null && <p class="problem">{problem}</p>}
    </div>
  );
}

function useTimeline(entity: 'worker' | 'task', id: string) {
  const [known, setKnown] = useState<Known>({ entries: [], before: null, problem: null });
  const [busy, setBusy] = useState(false);
  const at = place.value.at;
  const add = (page: readonly TimelineEntry[], before?: number | null) =>
    setKnown((old) => {
      const bySeq = new Map(old.entries.map((it) => [it.seq, it]));
      for (const it of page) bySeq.set(it.seq, it);
      const entries = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
      return { entries: entries.slice(-keptMax), before: before === undefined ? old.before : before, problem: null };
    });
  const read = async (before: number | null) => {
    setBusy(true);
    try {
      const page = await get<TimelinePage>(
        `timeline/${entity}/${id}?limit=${pageSize}${before === null ? '' : `&before=${before}`}`,
      );
      add(page.entries, page.before);
    } catch (error) {
      setKnown((old) => ({ ...old, problem: (error as Error).message }));
    }
    setBusy(false);
  };
  useEffect(() => {
    setKnown({ entries: [], before: null, problem: null });
    void read(at === null ? null : at + 1);
  }, [entity, id, at === null]);
  useEffect(() => {
    const oldest = known.entries[0]?.seq;
    // Gone back before what was read.
    if (at !== null && !busy && known.before !== null && oldest !== undefined && at < oldest) void read(at + 1);
  }, [at]);
  useEffect(
    () =>
      focus.subscribe((told) => {
        if (told === null || told.id !== id || isPast.peek()) return;
        if (told.more > 0) void read(null);
        else if (told.entries.length > 0) add(told.entries);
      }),
    [entity, id],
  );
  return { known, busy, older: () => void read(known.before) };
}
