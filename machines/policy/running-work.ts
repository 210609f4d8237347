/** Texts about background work that a stop waits for (protocol.md §8). Free of zod. */
import type { BackgroundWork } from './background.ts';
import { shortTitle } from './plan.ts';

/** Returns the name of a piece of work for people: its command, or its kind, or its id. */
export const nameOfWork = ({ id, kind, command }: Pick<BackgroundWork, 'id' | 'kind' | 'command'>): string =>
  command ?? kind ?? id;

const namedMax = 3;

/**
 * Returns the fixed text of protocol.md §8 with at most three names of 30 code points.
 * @param names of the work that the stop waits for
 */
export function runningWorkMessage(names: readonly string[]): string {
  const shown = names.slice(0, namedMax).map(shortTitle);
  const list = [...shown, ...(names.length > namedMax ? ['…'] : [])].join(', ');
  return names.length === 1
    ? `1 background task still runs: ${list}. Wait for it, or end it`
    : `${names.length} background tasks still run: ${list}. Wait for them, or end them`;
}
