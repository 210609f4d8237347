/** One open page, or several sharing a stream: the changes it has missed, and news about its selected actors. */
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Focus, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline.ts';
import { addNames, type ChangedNames, noNames } from './changes.ts';

/** `isReady` returns false while earlier messages are still buffered; nothing may be sent then. */
export type LiveClient = {
  send(event: string, data: string, seq: number | null): void;
  isReady(): boolean;
};

export type LivePage = {
  readonly client: LiveClient;
  /** News about each selected actor, by `keyOf`. */
  readonly topics: ReadonlyMap<string, TopicNews>;
  /** Changes that the page has missed. Null if none up to the last tick; `all` if it has received nothing yet. */
  missed: ChangedNames | 'all' | null;
};

/** `messages` are raw. They are decoded when sent, to keep the fold fast. */
type TopicNews = { readonly topic: Topic; changed: boolean; readonly messages: LogMessage[]; omitted: number };

const entriesMax = 40;
const keyOf = (entity: string, id: string): string => `${entity} ${id}`;

/** @param missedEntries entries were stored since the page last read, possibly about its selected actors */
export const createPage = (
  client: LiveClient,
  topics: readonly Topic[],
  missed: ChangedNames | null,
  missedEntries: boolean,
): LivePage => ({
  client,
  topics: new Map(
    topics.map((topic) => [
      keyOf(topic.entity, topic.id),
      { topic, changed: true, messages: [], omitted: missedEntries ? 1 : 0 },
    ]),
  ),
  missed: missed ?? 'all',
});

export const newsAbout = ({ topics }: LivePage, entity: string, id: string): TopicNews | undefined =>
  topics.size === 0 ? undefined : topics.get(keyOf(entity, id));

/** Whether any page has selected an actor. */
export function hasTopics(pages: ReadonlySet<LivePage>): boolean {
  for (const { topics } of pages) if (topics.size > 0) return true;
  return false;
}

/** Keeps only the names for a page that cannot receive now, because messages would take more memory. */
export function keepForLater(page: LivePage, names: ChangedNames): void {
  if (page.missed === null) page.missed = noNames();
  if (page.missed !== 'all') addNames(page.missed, names);
}

/** Adds an entry about a selected actor. */
export function addEntry(client: LiveClient, news: TopicNews, message: LogMessage): void {
  news.changed = true;
  if (!client.isReady()) {
    // Entries are large. A page that misses some reads them from the log.
    news.omitted += 1 + news.messages.splice(0).length;
    return;
  }
  if (news.messages.push(message) <= entriesMax) return;
  news.messages.shift();
  news.omitted += 1;
}

/** Takes the news about a selected actor since the last call. */
export function takeNews(news: TopicNews): Omit<Focus, 'id' | 'view'> {
  const entries = news.messages.splice(0).map(timelineEntry);
  const taken = { entries: entries.filter((entry) => entry !== null), omitted: news.omitted };
  news.changed = false;
  news.omitted = 0;
  return taken;
}
