/** Recorded hook calls of each agent's CLI, and answers that work (`stop-*.json`). */
import { readdirSync, readFileSync } from 'node:fs';

export type Recording = Readonly<Record<string, unknown>>;

export type Recordings = {
  /** The names of the recorded calls, without the answers. */
  readonly names: readonly string[];
  /** The hook's JSON. For a call that was recorded with its HTTP envelope, the body. */
  recorded(name: string): Recording;
};

export function recordingsOf(agent: string): Recordings {
  const folder = new URL(`./${agent}/`, import.meta.url);
  const read = (name: string) => JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Recording;
  return {
    names: readdirSync(folder)
      .filter((file) => file.endsWith('.json') && !file.startsWith('stop-'))
      .map((file) => file.slice(0, -'.json'.length)),
    recorded: (name) => {
      const found = read(name);
      return (agent === 'claude' && name.endsWith('.http') ? found.body : found) as Recording;
    },
  };
}
