/**
 * A queue that serves its keys in turn, so that a sender of a thousand messages does not keep another one waiting. It
 * works for a while and then lets the process do other things: read more, refuse excess requests, fold.
 */
export type FairQueue<Item> = { push(key: string, item: Item): void };

/** How many items are handled in one turn of the event loop: some milliseconds of work. */
const perTurnMax = 50;
/**
 * From how many items on the end of a turn is waited for. It makes the process ask all its sockets once more, which
 * costs more than it gives where items come one at a time.
 */
const uncountedMax = 8;

export function createFairQueue<Item>(handle: (item: Item) => void): FairQueue<Item> {
  const queues = new Map<string, Item[]>();
  /** Since the last end of a turn that was waited for: of this turn, or some of earlier ones too. */
  let handled = 0;
  let isWaiting = false;
  const handleOne = (item: Item) => {
    handled += 1;
    if (handled >= uncountedMax && !isWaiting) {
      isWaiting = true;
      setImmediate(endTurn);
    }
    handle(item);
  };
  const endTurn = () => {
    isWaiting = false;
    handled = 0;
    while (handled < perTurnMax && queues.size > 0) handleOne(next());
  };
  const next = (): Item => {
    const [key, items] = queues.entries().next().value as [string, Item[]];
    const item = items.shift() as Item;
    // Its next item waits for one of all the others.
    queues.delete(key);
    if (items.length > 0) queues.set(key, items);
    return item;
  };
  return {
    push(key, item) {
      if (queues.size === 0 && handled < perTurnMax) {
        handleOne(item);
        return;
      }
      const items = queues.get(key);
      if (items === undefined) queues.set(key, [item]);
      else items.push(item);
    },
  };
}
