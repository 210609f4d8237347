/** What others wrote, as text and nothing else: apart from our own words, marks made visible, cut with "more". */
import { useState } from 'preact/hooks';
import { count, visible } from './terms.ts';

const glimpseMax = 140;

export function Text({ value, max = 280, block = false }: { value: string; max?: number; block?: boolean }) {
  const [chars, setChars] = useState(max);
  const isCut = value.length > chars;
  const text = visible(isCut ? value.slice(0, chars) : value);
  return (
    <span class={block ? 'said block' : 'said'}>
      <bdi>{text}</bdi>
      {isCut && (
        <>
          {'… '}
          <button type="button" class="more" onClick={() => setChars(chars * 8)}>
            more ({count(value.length - chars)} characters)
          </button>
        </>
      )}
    </span>
  );
}

/** A name in a place of one line. */
export const Name = ({ value }: { value: string }) => <bdi class="name">{visible(value.slice(0, 200))}</bdi>;

/** The beginning of a text, in what opens on all of it: a button in there would be one within another. */
export const Glimpse = ({ value }: { value: string }) => (
  <span class="said">
    <bdi>{visible(value.slice(0, glimpseMax))}</bdi>
    {value.length > glimpseMax && '…'}
  </span>
);

export function Json({ value }: { value: unknown }) {
  return <Text block max={2_000} value={JSON.stringify(value, null, 1) ?? 'undefined'} />;
}
