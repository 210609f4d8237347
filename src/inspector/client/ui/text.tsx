/** Text written by others: isolated from our own, with invisible characters made visible, and long text collapsed. */
import { useState } from 'preact/hooks';
import { visible } from '../../visible-text.ts';
import { count } from './format.ts';

const excerptMax = 140;

export function Text({ value, max = 280, block = false }: { value: string; max?: number; block?: boolean }) {
  const [chars, setChars] = useState(max);
  const isCut = value.length > chars;
  const text = visible(isCut ? value.slice(0, chars) : value);
  return (
    <span class={block ? 'untrusted block' : 'untrusted'}>
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
