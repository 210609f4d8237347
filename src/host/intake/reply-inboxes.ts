/**
 * The inboxes named by undecided attempts (header `Stopgate-Reply`), by `attemptMessageId`. A repeat of an open attempt
 * adds its inbox instead of replacing one, so that repeating somebody else's attempt cannot hijack its reply.
 */
export type ReplyInboxes = {
  add(key: string, inbox: string): void;
  /** Returns the inboxes of an attempt and forgets them. */
  take(key: string): readonly string[];
  capture(): InboxesOf[];
  restore(captured: readonly InboxesOf[]): void;
};

type InboxesOf = readonly [key: string, inboxes: readonly string[]];

/** Maximum inboxes per attempt. Later callers can use a `decide` request. */
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
