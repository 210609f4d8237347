/**
 * The newest matches in a log that is read from further back: keeps matches until it reaches the log's head, then passes
 * on everything. The head is reached when as many messages have come as were requested, or when none came for a moment.
 */

const quietMs = 100;

export type Recent<Item> = {
  /** `seq`: the sequence of the message that `item` comes from; null: that message does not match. */
  readonly push: (item: Item | null, seq: number) => void;
  /** Shows what is kept. */
  readonly end: () => void;
};

/** Shows the newest `last` of the first `window` messages, then all. */
export function createNewestEntries<Item>(last: number, window: number, show: (item: Item) => void): Recent<Item> {
  let held: Item[] | null = window > 0 ? [] : null;
  let headSeq: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(timer);
    for (const item of held ?? []) show(item);
    held = null;
  };
  return {
    end,
    push(item, seq) {
      if (held === null) {
        if (item !== null) show(item);
        return;
      }
      headSeq ??= seq + window - 1;
      if (item !== null) held.push(item);
      if (held.length > last) held.shift();
      clearTimeout(timer);
      if (seq >= headSeq) end();
      else timer = setTimeout(end, quietMs);
    },
  };
}
