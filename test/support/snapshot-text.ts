/** Converts a fleet's snapshot to text and back. */
import { type Fleet, type Rules, restoreFleet, type SnapshotLine, takeSnapshot } from '../../machines/index.ts';

export function snapshotText(fleet: Fleet): string {
  const snapshot = takeSnapshot(fleet);
  const text = [...snapshot.lines].join('');
  snapshot.close();
  return text;
}

export const restoreText = (text: string, name = 'main', rules?: readonly Rules[]): Fleet =>
  restoreFleet(name, linesOf(text), rules);

function* linesOf(text: string): Generator<SnapshotLine> {
  for (const line of text.split('\n').slice(0, -1)) {
    const [, part = '', key = '', json = ''] = /^(\S+) (\S+) (.*)$/s.exec(line) ?? [];
    yield { part, key, json: () => json };
  }
}
