/**
 * A queue that serves its keys in turn, so that a sender of a thousand messages does not keep another one waiting. It
 * works for a while and then lets the process do other things: read more, refuse excess requests, fold.
 */
export type FairQueue<Item> = { push(key: string, item: Item): void };

/** How many items are handled in one turn of the event loop: some milliseconds of work. */
const perTurnMax = 50;

export function createFairQueue<Item>(handle: (item: Item) => void): FairQueue<Item> {
  const queues = new Map<string, Item[]>();
  let turn: { handled: number } | null = null;
  const begin = () => {
    turn = { handled: 0 };
    setImmediate(end);
  };
  const end = () => {
    if (queues.size === 0) {
      turn = null;
      return;
    }
    begin();
    while (turn !== null && turn.handled < perTurnMax && queues.size > 0) {
      turn.handled += 1;
      handle(next());
    }
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
      if (turn === null) begin();
      if (queues.size === 0 && turn !== null && turn.handled < perTurnMax) {
        turn.handled += 1;
        handle(item);
        return;
      }
      const items = queues.get(key);
      if (items === undefined) queues.set(key, [item]);
      else items.push(item);
    },
  };
}
