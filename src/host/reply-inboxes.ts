/**
 * The inboxes that undecided attempts named (header `Stopgate-Reply`), by `attemptMessageId`. A repeat of an open attempt
 * names another one. It takes nobody's place: else whoever repeats an attempt of others would get the answer alone.
 */
export type ReplyInboxes = {
  add(key: string, inbox: string): void;
  /** Returns and forgets them. */
  take(key: string): readonly string[];
  capture(): InboxesOf[];
  restore(captured: readonly InboxesOf[]): void;
};

type InboxesOf = readonly [key: string, inboxes: readonly string[]];

/** Of one attempt, the first come. Whoever else repeats it asks by a `decide` request. */
const perAttemptMax = 8;

export function createReplyInboxes(): ReplyInboxes {
  const named = new Map<string, readonly string[]>();
  return {
    add(key, inbox) {
      const known = named.get(key) ?? [];
      if (known.length < perAttemptMax && !known.includes(inbox)) named.set(key, [...known, inbox]);
    },
    take(key) {
      const taken = named.get(key) ?? [];
      named.delete(key);
      return taken;
    },
    capture: () => [...named],
    restore(captured) {
      for (const [key, inboxes] of captured) named.set(key, inboxes);
    },
  };
}
