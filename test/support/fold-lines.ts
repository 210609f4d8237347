/** Reads and replays entries like a replica, without a server. */
import { expect } from 'vitest';
import { type Entry, readEntry } from '../../machines/index.ts';
import { createReplay } from '../../machines/replay/replay.ts';

/** Reads the entry `stopgate.main.<tail>`. @throws Error if it is malformed */
export function entryOf(tail: string, data: object = {}): Entry {
  const text = JSON.stringify(data);
  const entry = readEntry(`stopgate.main.${tail}`, text, text.length);
  if (entry === null || !('data' in entry)) throw new Error(`no entry: ${tail}`);
  return entry;
}

/** Replays entries of fleet `main`, each a second after the one before. */
export function replayLines(...lines: readonly (readonly [tail: string, data: object])[]) {
  const replay = createReplay();
  for (const [index, [tail, data]] of lines.entries()) {
    const at = new Date(Date.UTC(2026, 2, 2, 12, 0, index)).toISOString();
    expect(replay.fold(JSON.stringify({ at, subject: `stopgate.main.${tail}`, data }))).toBeNull();
  }
  return replay;
}
