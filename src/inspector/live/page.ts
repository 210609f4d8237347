/** One open page: what it has not received yet, and news about the actor that it has selected. */
import type { LogMessage } from '../../nats/log-reader.ts';
import type { Focus, TimelineEntry, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline-entry.ts';
import { addNames, type ChangedNames, noNames } from './changed-names.ts';

/** `isReady` false: earlier messages are still buffered, so no more may be sent. */
export type LiveClient = {
  send(event: string, data: string, seq: number | null): void;
  isReady(): boolean;
};

export type LivePage = {
  readonly client: LiveClient;
  readonly topic: Topic | null;
  /** What the page has missed. Null: nothing, up to the last tick; `all`: it has received nothing yet. */
  missed: ChangedNames | 'all' | null;
  topicChanged: boolean;
  readonly entries: TimelineEntry[];
  omitted: number;
};

const entriesMax = 40;

export const createPage = (client: LiveClient, topic: Topic | null, missed: ChangedNames | null): LivePage => ({
  ...{ client, topic, missed: missed ?? 'all' },
  ...{ topicChanged: topic !== null, entries: [], omitted: 0 },
});

export const isSelected = ({ topic }: LivePage, entity: string, id: string): boolean =>
  topic?.id === id && topic.entity === entity;

/** For a page that cannot receive now: names take less room than messages. */
export function keepForLater(page: LivePage, names: ChangedNames): void {
  if (page.missed === null) page.missed = noNames();
  if (page.missed !== 'all') addNames(page.missed, names);
}

/** An entry about the selected actor. */
export function addEntry(page: LivePage, message: LogMessage): void {
  page.topicChanged = true;
  if (!page.client.isReady()) {
    // Entries are large; a page that misses some reads them from the log.
    page.omitted += 1 + page.entries.splice(0).length;
    return;
  }
  const entry = timelineEntry(message);
  if (entry === null || page.entries.push(entry) <= entriesMax) return;
  page.entries.shift();
  page.omitted += 1;
}

/** The news about the selected actor since the last call. */
export function takeNews(page: LivePage): Omit<Focus, 'id' | 'view'> {
  const news = { entries: page.entries.splice(0), omitted: page.omitted };
  page.topicChanged = false;
  page.omitted = 0;
  return news;
}
