/** A counting semaphore that lets folders and workers take turns. */

/** Identifies a caller. Null counts as a separate name. */
export type Caller = { readonly folder: string | null; readonly worker: string | null };

/**
 * `admitted`: acquired a permit. `aborted`: the signal was aborted first. `worker-full`: replaced by later requests of
 * the same worker. `full`: too many callers wait.
 */
export type AcquireResult = 'admitted' | 'aborted' | 'worker-full' | 'full';

type FairSemaphore = {
  acquire(caller: Caller, signal: AbortSignal): Promise<AcquireResult>;
  /** Returns a permit. Call it once per admission. */
  release(): void;
  /** Changes the number of permits. Excess permits are withdrawn as they are released. */
  resize(countMax: number): void;
  /** Returns the number of waiting callers. */
  readonly waiting: () => number;
};

export type FairSemaphoreOptions = {
  /** Number of permits. */
  readonly countMax: number;
  /**
   * Maximum number of waiting callers. A folder may have at most as many as there are free slots left, so half of all
   * if it is alone. However many folders are flooded, there is room for another one.
   */
  readonly waitingMax: number;
  /** Maximum number of waiting requests per worker. Beyond it, the worker's oldest request gives up. */
  readonly perWorkerMax: number;
};

type Waiter = { readonly settle: (admission: AcquireResult) => void };
type Workers = { readonly turns: Turns<Set<Waiter>>; waiting: number };

/**
 * Creates a semaphore that is fair between workers, so that a thousand checks of one worker do not delay the first of
 * another. Free permits go to folders in turn, within a folder to its workers in turn, and to a worker's requests in
 * order. Folders come first because worker names can be invented freely, while a folder must exist.
 */
export function createFairSemaphore({ waitingMax, perWorkerMax, ...first }: FairSemaphoreOptions): FairSemaphore {
  const folders = createTurns<Workers>();
  let { countMax } = first;
  let taken = 0;
  let waiting = 0;

  const remove = (caller: Caller, waiter: Waiter) => {
    const [folder, worker] = keysOf(caller);
    const workers = folders.get(folder);
    const queue = workers?.turns.get(worker);
    if (workers === undefined || queue === undefined || !queue.delete(waiter)) return;
    waiting -= 1;
    workers.waiting -= 1;
    if (queue.size === 0) workers.turns.delete(worker);
    if (workers.waiting === 0) folders.delete(folder);
  };
  const add = ({ folder, worker }: Caller, settle: Waiter['settle']): Waiter | null => {
    const [folderKey, workerKey] = keysOf({ folder, worker });
    const workers = folders.get(folderKey) ?? { turns: createTurns<Set<Waiter>>(), waiting: 0 };
    if (workers.waiting >= waitingMax - waiting) return null;
    const queue = workers.turns.get(workerKey) ?? new Set<Waiter>();
    const waiter = { settle };
    queue.add(waiter);
    workers.waiting += 1;
    waiting += 1;
    workers.turns.add(workerKey, queue);
    folders.add(folderKey, workers);
    const [oldest] = queue;
    if (queue.size > perWorkerMax && oldest !== undefined) oldest.settle('worker-full');
    return waiter;
  };
  const admit = () => {
    while (taken < countMax && waiting > 0) {
      const [waiter] = folders.next().turns.next();
      taken += 1;
      waiter?.settle('admitted');
    }
  };
  return {
    waiting: () => waiting,
    async acquire(caller, signal) {
      if (signal.aborted) return 'aborted';
      if (taken < countMax) {
        taken += 1;
        return 'admitted';
      }
      return new Promise<AcquireResult>((resolve) => {
        const abort = () => waiter?.settle('aborted');
        const waiter = add(caller, (admission) => {
          if (waiter !== null) remove(caller, waiter);
          signal.removeEventListener('abort', abort);
          resolve(admission);
        });
        if (waiter === null) resolve('full');
        else signal.addEventListener('abort', abort, { once: true });
      });
    },
    release() {
      taken -= 1;
      admit();
    },
    resize(count) {
      countMax = count;
      admit();
    },
  };
}

/** A name can be any text, so a prefix distinguishes it from null. */
const keysOf = ({ folder, worker }: Caller) => [keyOf(folder), keyOf(worker)] as const;
const keyOf = (name: string | null) => (name === null ? '' : `=${name}`);

type Turns<Value> = {
  get(key: string): Value | undefined;
  /** Adds a key. Does nothing if the key exists. */
  add(key: string, value: Value): void;
  delete(key: string): void;
  /** Returns the value whose turn it is and moves its key to the end. There must be at least one key. */
  next(): Value;
};

/**
 * Number of keys above which they count as a crowd. In a strict rotation the newest key would wait for all others,
 * which may be invented, for minutes. So in a crowd every second turn goes to the newest key that has had none since
 * the crowd began. The oldest waits at most twice as long.
 */
const crowdMin = 64;

function createTurns<Value>(): Turns<Value> {
  const values = new Map<string, Value>(); // in the order of their turns
  /** Keys in order of arrival. Some may have been deleted. */
  let newest: string[] = [];
  let served = new Set<string>();
  let isNewestNext = true;
  const takeNewest = (): string | null => {
    for (let key = newest.pop(); key !== undefined; key = newest.pop())
      if (values.has(key) && !served.has(key)) return key;
    return null;
  };
  const takeOldest = () => values.keys().next().value as string;
  return {
    get: (key) => values.get(key),
    add(key, value) {
      if (values.has(key)) return;
      values.set(key, value);
      newest.push(key);
      // A key that is added and deleted repeatedly is listed each time: compact the list.
      if (newest.length > 2 * values.size + crowdMin)
        newest = [...new Set(newest.filter((listed) => values.has(listed)).reverse())].reverse();
    },
    delete: (key) => void values.delete(key),
    next() {
      const isCrowd = values.size > crowdMin;
      // Bounded, so that it does not grow as long as the crowd lasts.
      if (!isCrowd || served.size > 4 * values.size) served = new Set();
      isNewestNext = isCrowd && !isNewestNext;
      const key = (isNewestNext ? takeNewest() : null) ?? takeOldest();
      if (isCrowd) served.add(key);
      const value = values.get(key) as Value;
      values.delete(key);
      values.set(key, value);
      return value;
    },
  };
}
