/** The sequence diagram of a worker: a lifeline per participant, an arrow per entry, oldest on top. */
import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Decision } from '../../../../machines/index.ts';
import { type Message, type Participant, type Sequence, sequenceOf } from '../../sequence.ts';
import { visible } from '../../visible-text.ts';
import { verdictKindOf, verdictOf } from '../../vocabulary.ts';
import { HeldArea } from '../actor/panel.tsx';
import { focus } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { route } from '../route.ts';
import { Button, Link } from '../ui/controls.tsx';
import { dateTime, plural, time } from '../ui/format.ts';
import { DayHeading, Name } from '../ui/text.tsx';
import { useHeld } from '../ui/use-held.ts';
import { useEntries } from './entries.ts';
import { Family } from './family.tsx';
import './sequence.css';

/** The newest entry in the stream. The diagram is reloaded when it changes. */
const newestOf = () => (isPast.value ? null : (focus.value?.entries.at(-1)?.seq ?? null));

export function SequenceView({ id }: { id: string }) {
  const held = useHeld(newestOf(), String, isPast.value);
  const { loaded, problem } = useEntries(id, route.value.at, held.shown);
  const sequence = useMemo(() => (loaded === null ? null : sequenceOf(loaded.entries, id)), [loaded, id]);
  return (
    <section class="sequence" aria-label="Sequence">
      <HeldArea held={held}>
        <Family id={id} />
        {problem !== null && <p class="problem">{problem}</p>}
        {sequence === null && problem === null && <p class="muted">Loading…</p>}
        {loaded?.isCut === true && <p class="muted">Only the newest entries are drawn; the timeline has all.</p>}
        {sequence !== null && <Diagram sequence={sequence} worker={id} />}
        <p class="row buttons no-print">
          <Button onClick={() => print()}>Print</Button>
        </p>
      </HeldArea>
    </section>
  );
}

const columnPx = 108;
const rowPx = 34;

function Diagram({ sequence: { participants, messages }, worker }: { sequence: Sequence; worker: string }) {
  const columns = new Map(participants.map(({ key }, index) => [key, index * columnPx + columnPx / 2]));
  const width = participants.length * columnPx;
  if (messages.length === 0) return <p class="muted">No entries yet.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="lanes" tabIndex={0} aria-label={`${plural(messages.length, 'message')} of ${worker}`}>
      <div class="lane-heads" style={{ width: `${width}px` }}>
        {participants.map((participant) => (
          <Head key={participant.key} participant={participant} isOwn={participant.key === `worker ${worker}`} />
        ))}
      </div>
      <ol style={{ '--lanes': `${width}px` }}>
        {messages.map((message, index) => (
          <Fragment key={message.seq}>
            <DayHeading atMs={message.atMs} previousMs={messages[index - 1]?.atMs} />
            <Row message={message} columns={columns} width={width} />
          </Fragment>
        ))}
      </ol>
    </section>
  );
}

const Head = ({ participant: { kind, name }, isOwn }: { participant: Participant; isOwn: boolean }) => (
  <div class="lane-head" data-kind={kind} data-own={isOwn || undefined} style={{ width: `${columnPx}px` }}>
    <span class="muted">{kind === 'service' || kind === 'operator' ? '' : kind}</span>
    <Name value={name} />
  </div>
);

type MessageRowProps = {
  readonly message: Message;
  readonly columns: ReadonlyMap<string, number>;
  readonly width: number;
};

function Row({ message, columns, width }: MessageRowProps) {
  const { seq, atMs, from, to, type, text, count } = message;
  const times = count > 1 ? ` ×${count}` : '';
  return (
    <li data-seq={seq} data-type={type} data-verdict-kind={colourOf(message)}>
      <span class="sr-only">
        {time(atMs)}, {from} to {to}: {type} {visible(text)}
        {times}
      </span>
      <Link class="seq muted" to={{ at: seq }} title={`${dateTime(atMs)}: show the fleet at this entry`}>
        {time(atMs)}
      </Link>
      <svg width={width} height={rowPx} viewBox={`0 0 ${width} ${rowPx}`} aria-hidden="true">
        <title>{`${dateTime(atMs)} ${type}${times}: ${visible(text)}`}</title>
        {[...columns.values()].map((x) => (
          <line key={x} stroke="var(--line)" x1={x} x2={x} y1="0" y2={rowPx} />
        ))}
        <Arrow from={columns.get(from) ?? 0} to={columns.get(to) ?? 0} label={`${wordOf(message)}${times}`} />
      </svg>
    </li>
  );
}

function Arrow({ from, to, label }: { from: number; to: number; label: string }) {
  const y = rowPx - 10;
  const side = to < from ? -1 : 1;
  // Keep the label of a long arrow near its left end, where it is visible.
  const middle = from === to ? from + 30 : Math.min(from, to) + Math.min(Math.abs(to - from), 2 * columnPx) / 2;
  const path = from === to ? `M${from},${y - 8}h24v8H${from + 6}` : `M${from},${y}H${to - side * 6}`;
  const tip = from === to ? `M${from},${y}l8,-4v8z` : `M${to},${y}l${-side * 8},-4v8z`;
  return (
    <>
      <path class="arrow" d={path} />
      <path class="tip" d={tip} />
      <text x={middle} y={y - 6} text-anchor={from === to ? 'start' : 'middle'}>
        {label}
      </text>
    </>
  );
}

/** The label of an arrow: the outcome in one word, otherwise the type. */
function wordOf({ type, entry: { data } }: Message): string {
  if (type === 'decision') return verdictOf(data as Decision).word;
  const { outcome } = data as { outcome?: unknown };
  return type === 'check.finished' && typeof outcome === 'string' ? outcome : type;
}

/** The verdict kind that gives an arrow its colour, if it has one. */
function colourOf({ type, entry: { data } }: Message): string | undefined {
  if (type === 'decision') return verdictKindOf(data as Decision);
  const { outcome } = data as { outcome?: unknown };
  if (type !== 'check.finished') return undefined;
  return outcome === 'pass' ? 'complete' : outcome === 'fail' ? 'blocked' : 'unjudged';
}
