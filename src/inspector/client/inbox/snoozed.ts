/** Items of the inbox that this browser's operator does not want to see for a while. Others see them all the same. */
import { signal } from '@preact/signals';

/** `sinceMs`: since when it waited; one that waits for something else is shown at once. */
type Snoozed = { readonly untilMs: number; readonly sinceMs: number };

const storageKey = 'stopgate.snoozed';
/** Whoever snoozes more does not read the inbox; the oldest are shown again. */
const snoozedMax = 500;

const read = (): ReadonlyMap<string, Snoozed> => {
  try {
    return new Map(JSON.parse(localStorage.getItem(storageKey) ?? '[]'));
  } catch {
    return new Map();
  }
};
export const snoozed = signal(read());

const write = (next: ReadonlyMap<string, Snoozed>): void => {
  snoozed.value = new Map([...next].slice(-snoozedMax));
  localStorage.setItem(storageKey, JSON.stringify([...snoozed.value]));
};

export const snoozeLengths = { hour: 'for an hour', tomorrow: 'until tomorrow, 9:00' } as const;
export type SnoozeLength = keyof typeof snoozeLengths;

export function snooze(
  items: readonly { readonly key: string; readonly sinceMs: number }[],
  length: SnoozeLength,
): void {
  const until = new Date();
  if (length === 'hour') until.setHours(until.getHours() + 1);
  else {
    until.setDate(until.getDate() + 1);
    until.setHours(9, 0, 0, 0);
  }
  const added = items.map(({ key, sinceMs }) => [key, { untilMs: until.getTime(), sinceMs }] as const);
  write(new Map([...snoozed.peek(), ...added]));
}

export const wake = (): void => write(new Map());

export function isSnoozed(key: string, sinceMs: number): boolean {
  const found = snoozed.value.get(key);
  return found !== undefined && found.sinceMs === sinceMs && found.untilMs > Date.now();
}
