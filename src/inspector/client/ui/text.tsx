/** Text written by others: isolated from our own, with invisible characters made visible, and long text collapsed. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Decision, State } from '../../../../machines/index.ts';
import { visible } from '../../visible-text.ts';
import { verdictOf } from '../../vocabulary.ts';
import { nowMs } from '../data/connection.ts';
import { shownMs } from '../data/past.ts';
import { age, ago, count, date, dateTime, duration, plural } from './format.ts';

const excerptMax = 140;

type TextProps = {
  readonly value: string;
  readonly max?: number;
  readonly block?: boolean;
  /** The element that it is. */
  readonly as?: 'span' | 'b' | 'p' | 'li' | 'blockquote';
  readonly class?: string;
};

export function Text({ value, max = 280, block = false, as: Element = 'span', class: name = '' }: TextProps) {
  const [chars, setChars] = useState(max);
  const isCut = value.length > chars;
  const text = visible(isCut ? value.slice(0, chars) : value);
  return (
    <Element class={block ? 'untrusted block' : `untrusted ${name}`}>
      <bdi>{text}</bdi>
      {isCut && (
        <>
          {'… '}
          <button type="button" class="more" onClick={() => setChars(chars * 8)}>
            more ({count(value.length - chars)} characters)
          </button>
        </>
      )}
    </Element>
  );
}

/** A name, in a single line. */
export const Name = ({ value }: { value: string }) => <bdi class="name">{visible(value.slice(0, 200))}</bdi>;

/** The beginning of a text, inside something clickable that opens all of it, where no "more" button may be. */
export const Excerpt = ({ value }: { value: string }) => (
  <span class="untrusted">
    <bdi>{visible(value.slice(0, excerptMax))}</bdi>
    {value.length > excerptMax && '…'}
  </span>
);

export function Json({ value }: { value: unknown }) {
  return <Text block max={2_000} value={JSON.stringify(value, null, 1) ?? 'undefined'} />;
}

const linesShown = 8;

/** A log, folded to its last lines: that is where it says what went wrong. */
export function Tail({ value }: { value: string }) {
  const [isWhole, setWhole] = useState(false);
  const lines = value.trimEnd().split('\n');
  const hidden = lines.length - linesShown;
  if (hidden <= 1 || isWhole) return <Text block value={value.trimEnd()} max={4_000} />;
  return (
    <div class="tail">
      <button type="button" class="more" onClick={() => setWhole(true)}>
        {plural(hidden, 'earlier line')} ▸
      </button>
      <Text block value={lines.slice(-linesShown).join('\n')} max={2_000} />
    </div>
  );
}

/** Ages and what is left of a time: they stand still, and are dimmed, while the page does not hear of the present. */
const Age = ({ atMs, children }: { atMs: number; children: ComponentChildren }) => (
  <span class="age" title={dateTime(atMs)}>
    {children}
  </span>
);

/** Components of their own, so that the clock renders only these texts every second, and not what is around them. */
export const Ago = ({ thenMs }: { thenMs: number }) => <Age atMs={thenMs}>{ago(thenMs, shownMs.value)}</Age>;

export const For = ({ sinceMs }: { sinceMs: number }) => (
  <Age atMs={sinceMs}>{duration(Math.max(0, shownMs.value - sinceMs))}</Age>
);

/** In a column, in one unit. */
export const Since = ({ sinceMs }: { sinceMs: number }) => (
  <Age atMs={sinceMs}>{age(Math.max(0, shownMs.value - sinceMs))}</Age>
);

/** For how long an agent waits for an answer from here; then it asks where it runs. */
export const Left = ({ untilMs }: { untilMs: number }) =>
  untilMs > shownMs.value ? (
    <span class="age left">{duration(untilMs - shownMs.value)} left</span>
  ) : (
    <span class="muted">asks in its terminal now</span>
  );

/** The date, in a list of times that comes to another day. The first line is compared with today. */
type Props = { readonly atMs: number; readonly previousMs: number | undefined };

export const DayHeading = ({ atMs, previousMs = nowMs.peek() }: Props) =>
  date(atMs) === date(previousMs) ? null : <li class="day muted strong">{date(atMs)}</li>;

/** States, presences and decisions as marks: a colour, and always text with it. */
export const StateMark = ({ state, note }: { state: State; note?: string | null }) => (
  <span class="state" data-state={state}>
    <i class="dot" aria-hidden="true" />
    {state}
    {note != null && <span class="note"> · {note}</span>}
  </span>
);

type Answered = Pick<Decision, 'decision' | 'action' | 'cause'>;

/** The protocol's words, which logs and agents have. */
export const wordsOf = ({ decision, action, cause }: Answered): string => `${decision} · ${action} · ${cause}`;

/** A decision as one word for people; the protocol's words on demand. */
export const DecisionMark = ({ decision }: { decision: Answered }) => {
  const { kind, word } = verdictOf(decision);
  return (
    <b
      class="answer"
      data-verdict-kind={kind}
      data-answer={decision.decision}
      data-cause={decision.cause}
      title={wordsOf(decision)}
    >
      {word}
    </b>
  );
};
