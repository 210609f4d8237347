/** Converts a fleet's snapshot to text and back. */
import { type Fleet, type RulesVersion, restoreFleet, type SnapshotLine, takeSnapshot } from '../../machines/index.ts';

export function snapshotText(fleet: Fleet): string {
  const snapshot = takeSnapshot(fleet);
  const text = [...snapshot.lines].join('');
  snapshot.close();
  return text;
}

export const restoreText = (text: string, name = 'main', rules?: readonly RulesVersion[]): Fleet =>
  restoreFleet(name, text.split('\n').slice(0, -1).map(toLine), rules);

function toLine(line: string): SnapshotLine {
  const bytes = Buffer.from(line);
  return { bytes, from: 0, end: bytes.length, text: (from, end) => bytes.toString('utf8', from, end) };
}
