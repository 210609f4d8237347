/**
 * The newest of a log that is read from further back: holds what matches until the log's head is reached, then lets
 * everything pass. The head is where as much was read as was asked for, or where nothing came for a moment.
 */

const quietMs = 100;

export type Recent<Item> = {
  /** `seq`: the log's own count of the message that `item` was made of; null: it does not match. */
  readonly push: (item: Item | null, seq: number) => void;
  /** Shows what is held. */
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
