/** What Claude Code 2.1.329 sent its hooks, and the answers that were proven to work (`stop-*.json`). */
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./claude/', import.meta.url);

export type Recording = Readonly<Record<string, unknown>>;

export const recordingNames: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

/** The hook's JSON; of a call that was recorded with its HTTP envelope, the body. */
export function recorded(name: string): Recording {
  const found = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Recording;
  return (name.endsWith('.http') ? found.body : found) as Recording;
}
