/** How texts name background work that a stop waits for (protocol.md §8). No zod: light rooms use it. */
import type { BackgroundWork } from './background.ts';
import { shortTitle } from './plan.ts';

/** The name of a piece of work for people: its command, else its kind, else its id. */
export const nameOfWork = ({ id, kind, command }: Pick<BackgroundWork, 'id' | 'kind' | 'command'>): string =>
  command ?? kind ?? id;

const namedMax = 3;

/**
 * The fixed text of protocol.md §8, with the first three names, each cut to 30 code points.
 * @param names of the work that is waited for
 */
export function runningWorkMessage(names: readonly string[]): string {
  const shown = names.slice(0, namedMax).map(shortTitle);
  const list = [...shown, ...(names.length > namedMax ? ['…'] : [])].join(', ');
  return names.length === 1
    ? `1 background task still runs: ${list}. Wait for it, or end it`
    : `${names.length} background tasks still run: ${list}. Wait for them, or end them`;
}
