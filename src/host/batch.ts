/** Collects items and hands them on together: the first waits for others, for `delayMs` at most. */
export type Batch<Item> = {
  add(item: Item): void;
  /** Hands on the waiting items at once. */
  flush(): void;
};

export type BatchOptions = {
  readonly delayMs: number;
  /** With this many items the batch is full, and handed on at the end of the turn. */
  readonly itemsMax: number;
};

export function createBatch<Item>(handOn: (items: Item[]) => void, { delayMs, itemsMax }: BatchOptions): Batch<Item> {
  const items: Item[] = [];
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (items.length > 0) handOn(items.splice(0));
  };
  return {
    add(item) {
      items.push(item);
      timer ??= setTimeout(flush, delayMs);
      if (items.length === itemsMax) setImmediate(flush);
    },
    flush,
  };
}
