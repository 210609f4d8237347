/** A log, folded to its last lines: that is where it says what went wrong. */
import { useState } from 'preact/hooks';
import { plural } from './format.ts';
import { Text } from './text.tsx';

const linesShown = 8;

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
