/** Background work, for agents that list what is running when they ask to stop. */
import { z } from 'zod';
import { type EntryDraft, nameCharsMax } from './entry-drafts.ts';
import type { PriorWorker } from './prior-worker.ts';
import { firstChars } from './text.ts';

/** Each becomes an entry. More background work than this is not tracked. */
export const backgroundMax = 200;

export type BackgroundTask = {
  readonly id: string;
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
};

/** Each becomes an entry, and there may be many: kept short. */
export const shortName = z.string().transform((name) => firstChars(name, nameCharsMax));

type ListingCall = {
  /** It is undefined if the call has no list, so it tells nothing. */
  readonly background_tasks?: readonly BackgroundTask[] | undefined;
  /** A sub-agent lists itself too. */
  readonly agent_id?: string | undefined;
};

/** Drafts what has begun and ended since the last list. */
export function draftBackground(
  { background_tasks: tasks, agent_id: self }: ListingCall,
  prior: PriorWorker,
): readonly EntryDraft[] {
  if (tasks === undefined) return [];
  const running = tasks.filter(({ id, status }) => status === 'running' && id !== self).slice(0, backgroundMax);
  const started = running.filter(({ id }) => !prior.background.includes(id));
  const finished = prior.background.filter((id) => !running.some((task) => task.id === id));
  return [
    ...started.map(({ id, kind }) => ({
      type: 'background.started',
      data: { id, ...(kind === undefined ? {} : { kind }) },
    })),
    ...finished.map((id) => ({ type: 'background.finished', data: { id } })),
  ];
}
