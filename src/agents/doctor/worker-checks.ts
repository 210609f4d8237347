/** Which of an agent's sessions have called the service, and through which settings they can have done so. */
import { relative } from 'node:path';
import { z } from 'zod';
import { askHttp } from './ask-http.ts';
import { type Finding, ok, skip, warn } from './finding.ts';

const listSchema = z.object({
  items: z.array(z.object({ worker: z.string(), cwd: z.string().nullable(), lastSeen: z.string() })),
  next: z.string().nullable(),
});

type Question = {
  readonly http: string;
  readonly fleet: string;
  readonly token: string | null;
  readonly agent: string;
  readonly cwd: string;
  /** The scopes of the settings that have our hooks. */
  readonly scopes: readonly string[];
  readonly ago: (at: string) => string;
};

export async function checkWorkers({ http, fleet, token, agent, cwd, scopes, ago }: Question): Promise<Finding> {
  const reply = await askHttp(`${http}/api/${fleet}/list/workers?agent=${agent}&limit=1000`, token);
  const read = listSchema.safeParse(typeof reply === 'string' ? null : reply.body);
  if (!read.success) return skip(agent, `the service does not list its workers of fleet '${fleet}'`);
  const { items, next } = read.data;
  if (items.length === 0) {
    return scopes.length === 0
      ? skip(agent, 'no session has called')
      : warn(
          agent,
          'its hooks are in place, but no session has ever called',
          'start a new session in this folder, prompt it, then run this again',
        );
  }
  const here = items.filter((worker) => worker.cwd !== null && isWithin(worker.cwd, cwd)).length;
  const last =
    items
      .map(({ lastSeen }) => lastSeen)
      .sort()
      .at(-1) ?? '';
  const count = `${items.length}${next === null ? '' : ' or more'} session${items.length === 1 ? '' : 's'}`;
  const by =
    scopes.length === 0
      ? 'through settings elsewhere'
      : `${here} in this folder, through the ${scopes.join(' and ')} settings`;
  return ok(agent, `${count} called, ${by}; the last one ${ago(last)}`);
}

function isWithin(folder: string, root: string): boolean {
  const way = relative(root, folder);
  return way === '' || (way !== '..' && !way.startsWith('../') && !way.startsWith('/'));
}
