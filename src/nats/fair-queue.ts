/**
 * A queue that serves its keys in turn, so that a sender of a thousand messages does not delay the others. It yields to
 * the event loop regularly, so that the process can read, refuse excess requests and fold.
 */
type FairQueue<Item> = { push(key: string, item: Item): void };

/** Maximum number of items handled per turn of the event loop: a few milliseconds of work. */
const perTurnMax = 50;
/**
 * Number of items from which `setImmediate` marks the end of a turn. It makes the process poll its sockets once more,
 * which is not worth it for single items.
 */
const uncountedMax = 8;

export function createFairQueue<Item>(handle: (item: Item) => void): FairQueue<Item> {
  const queues = new Map<string, Item[]>();
  /** Items handled since the last marked end of a turn, which may include earlier turns. */
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
    // Move the key to the end: its next item waits for one of every other key.
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
