/** One open page, or several that share a stream: what it has not received yet, and news about the actors that it has selected. */
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { Focus, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline.ts';
import { addNames, type ChangedNames, noNames } from './changes.ts';

/** `isReady` false: earlier messages are still buffered, so no more may be sent. */
export type LiveClient = {
  send(event: string, data: string, seq: number | null): void;
  isReady(): boolean;
};

export type LivePage = {
  readonly client: LiveClient;
  /** The news about each selected actor, by `keyOf`. */
  readonly topics: ReadonlyMap<string, TopicNews>;
  /** The changes that the page has missed; null: none, up to the last tick; `all`: it has received nothing yet. */
  missed: ChangedNames | 'all' | null;
};

/** `messages`: as they came. They are read when they are sent, not while the log is folded. */
type TopicNews = { readonly topic: Topic; changed: boolean; readonly messages: LogMessage[]; omitted: number };

const entriesMax = 40;
const keyOf = (entity: string, id: string): string => `${entity} ${id}`;

/** @param missedEntries some came since the page was here last, and they may be about what it has selected */
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

/** Has any page selected an actor? */
export function hasTopics(pages: ReadonlySet<LivePage>): boolean {
  for (const { topics } of pages) if (topics.size > 0) return true;
  return false;
}

/** Keeps the names for a page that cannot receive now: they take less room than messages. */
export function keepForLater(page: LivePage, names: ChangedNames): void {
  if (page.missed === null) page.missed = noNames();
  if (page.missed !== 'all') addNames(page.missed, names);
}

/** Adds an entry about a selected actor. */
export function addEntry(client: LiveClient, news: TopicNews, message: LogMessage): void {
  news.changed = true;
  if (!client.isReady()) {
    // Entries are large; a page that misses some reads them from the log.
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
  const taken = { entries: entries.filter((it) => it !== null), omitted: news.omitted };
  news.changed = false;
  news.omitted = 0;
  return taken;
}
