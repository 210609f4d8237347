/** What others wrote, as text and nothing else: apart from our own words, marks made visible, cut with "more". */
import { useState } from 'preact/hooks';
import { count, visible } from './words.ts';

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

export function Json({ value }: { value: unknown }) {
  return <Text block max={2_000} value={JSON.stringify(value, null, 1) ?? 'undefined'} />;
}
