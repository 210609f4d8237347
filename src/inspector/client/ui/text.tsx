/** Components for untrusted text: isolated, with invisible characters shown, and long text collapsed. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Decision, State } from '../../../../machines/index.ts';
import { visible } from '../../visible-text.ts';
import { verdictOf } from '../../vocabulary.ts';
import { nowMs } from '../data/connection.ts';
import { shownMs } from '../data/past.ts';
import { age, ago, count, date, dateTime, duration, plural } from './format.ts';
import { isPrinting } from './printing.ts';

const excerptMax = 140;

type TextProps = {
  readonly value: string;
  readonly max?: number;
  readonly block?: boolean;
  /** The element to render. */
  readonly as?: 'span' | 'b' | 'p' | 'li' | 'blockquote';
  readonly class?: string;
};

export function Text({ value, max = 280, block = false, as: Element = 'span', class: name = '' }: TextProps) {
  const [chars, setChars] = useState(max);
  const isCut = value.length > chars && !isPrinting.value;
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

/** A name on a single line. */
export const Name = ({ value }: { value: string }) => <bdi class="name">{visible(value.slice(0, 200))}</bdi>;

/** The beginning of a text, for use inside clickable elements, which must not contain a "more" button. */
export const Excerpt = ({ value }: { value: string }) => (
  <span class="untrusted">
    <bdi>{visible(isPrinting.value ? value : value.slice(0, excerptMax))}</bdi>
    {value.length > excerptMax && !isPrinting.value && '…'}
  </span>
);

export function Json({ value }: { value: unknown }) {
  return <Text block max={2_000} value={JSON.stringify(value, null, 1) ?? 'undefined'} />;
}

const linesShown = 8;

/** A log collapsed to its last lines, which usually name the error. */
export function Tail({ value }: { value: string }) {
  const [isWhole, setWhole] = useState(false);
  const output = value.replace(/^\s*\n/, '').trimEnd();
  const lines = output.split('\n');
  const hidden = lines.length - linesShown;
  if (hidden <= 1 || isWhole || isPrinting.value) return <Text block value={output} max={4_000} />;
  return (
    <div class="tail">
      <button type="button" class="more" onClick={() => setWhole(true)}>
        {plural(hidden, 'earlier line')} ▸
      </button>
      <Text block value={lines.slice(-linesShown).join('\n')} max={2_000} />
    </div>
  );
}

/** Ages and remaining times. They stand still and are dimmed while the page is not live. */
const Age = ({ atMs, children }: { atMs: number; children: ComponentChildren }) => (
  <span class="age" title={dateTime(atMs)}>
    {children}
  </span>
);

/** A separate component, so that the clock re-renders only this text every second. */
export const Ago = ({ thenMs }: { thenMs: number }) => <Age atMs={thenMs}>{ago(thenMs, shownMs.value)}</Age>;

export const For = ({ sinceMs }: { sinceMs: number }) => (
  <Age atMs={sinceMs}>{duration(Math.max(0, shownMs.value - sinceMs))}</Age>
);

/** An age in one unit, for table columns. */
export const Since = ({ sinceMs }: { sinceMs: number }) => (
  <Age atMs={sinceMs}>{age(Math.max(0, shownMs.value - sinceMs))}</Age>
);

/** How long the agent still waits for an answer from this page before it asks in its terminal. */
export const Left = ({ untilMs }: { untilMs: number }) =>
  untilMs > shownMs.value ? (
    <span class="age left">{duration(untilMs - shownMs.value)} left</span>
  ) : (
    <span class="muted">now asks in its terminal</span>
  );

/** A date heading, rendered where a list of times reaches another day. The first line is compared with today. */
type Props = { readonly atMs: number; readonly previousMs: number | undefined };

export const DayHeading = ({ atMs, previousMs = nowMs.peek() }: Props) =>
  date(atMs) === date(previousMs) ? null : <li class="day muted strong">{date(atMs)}</li>;

/** A state as a coloured mark, always with text. */
export const StateMark = ({ state, note }: { state: State; note?: string | null }) => (
  <span class="state" data-state={state}>
    <i class="dot" aria-hidden="true" />
    {state}
    {note != null && <span class="note"> · {note}</span>}
  </span>
);

type DecisionWords = Pick<Decision, 'decision' | 'action' | 'cause'>;

/** The protocol's words, as in logs. */
export const wordsOf = ({ decision, action, cause }: DecisionWords): string => `${decision} · ${action} · ${cause}`;

/** A decision as one word, with the protocol's words as tooltip. */
export const DecisionMark = ({ decision }: { decision: DecisionWords }) => {
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
