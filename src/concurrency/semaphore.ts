/**
 * Counting semaphores: a limited number of places. The plain one serves first come, first served; the fair one takes turns
 * between those who ask.
 */

export type Semaphore = {
  /**
   * Resolves to true once it has a place, until `release`, and to false if `signal` was aborted before one was free.
   */
  acquire(signal: AbortSignal): Promise<boolean>;
  release(): void;
};

/** `countMax`: how many places there are. */
export function createSemaphore(countMax: number): Semaphore {
  let taken = 0;
  const waiting = new Set<() => void>(); // a Set keeps the order, and removing from the middle is cheap
  return {
    async acquire(signal) {
      if (signal.aborted) return false;
      if (taken < countMax) {
        taken += 1;
        return true;
      }
      return new Promise<boolean>((resolve) => {
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve(true);
        };
        const leave = () => {
          waiting.delete(enter);
          resolve(false);
        };
        waiting.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
    release() {
      // The place goes to whoever waits longest.
      for (const enter of waiting) {
        waiting.delete(enter);
        enter();
        return;
      }
      taken -= 1;
    },
  };
}

/** Who asks. Null is a party of its own. */
export type Party = { readonly folder: string | null; readonly worker: string | null };

/** `admitted`: a place is taken, until `release`. `aborted`: nobody waits for it any more. Else which bound it met. */
export type Admission = 'admitted' | 'aborted' | 'worker-full' | 'full';

export type FairSemaphore = {
  acquire(by: Party, signal: AbortSignal): Promise<Admission>;
  release(): void;
  /** From now on there are so many places. Those that are taken beyond it are not given again. */
  resize(countMax: number): void;
  /** Returns how many wait for a place. */
  readonly waiting: () => number;
};

export type FairSemaphoreOptions = {
  readonly countMax: number;
  /**
   * This many may wait in all. One folder has at most as many as are still free, so half of them if it is alone:
   * however many folders are flooded, there is room for the next.
   */
  readonly waitingMax: number;
  /** This many requests of one worker may wait. One more, and its oldest is given up: a later one has replaced it. */
  readonly perWorkerMax: number;
};

type Waiter = { readonly settle: (admission: Admission) => void };
type Workers = { readonly turns: Turns<Set<Waiter>>; waiting: number };

/**
 * Is fair between the workers who ask, so that a thousand checks of others delay nobody's first one. Free places go to
 * folders in turn, within a folder to its workers in turn, and to a worker's requests in their order. A worker costs
 * nothing to invent, and a folder on this machine does: so folders come first.
 */
export function createFairSemaphore({ waitingMax, perWorkerMax, ...first }: FairSemaphoreOptions): FairSemaphore {
  const folders = createTurns<Workers>();
  let { countMax } = first;
  let taken = 0;
  let waiting = 0;

  const remove = (by: Party, waiter: Waiter) => {
    const [folder, worker] = keysOf(by);
    const workers = folders.get(folder);
    const queue = workers?.turns.get(worker);
    if (workers === undefined || queue === undefined || !queue.delete(waiter)) return;
    waiting -= 1;
    workers.waiting -= 1;
    if (queue.size === 0) workers.turns.delete(worker);
    if (workers.waiting === 0) folders.delete(folder);
  };
  const add = ({ folder, worker }: Party, settle: Waiter['settle']): Waiter | null => {
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
    async acquire(by, signal) {
      if (signal.aborted) return 'aborted';
      if (taken < countMax) {
        taken += 1;
        return 'admitted';
      }
      return new Promise<Admission>((resolve) => {
        const abort = () => waiter?.settle('aborted');
        const waiter = add(by, (admission) => {
          if (waiter !== null) remove(by, waiter);
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

/** A name can be any text, so it has a letter in front that null has not. */
const keysOf = ({ folder, worker }: Party) => [keyOf(folder), keyOf(worker)] as const;
const keyOf = (name: string | null) => (name === null ? '' : `=${name}`);

type Turns<Value> = {
  get(key: string): Value | undefined;
  /** Adds a key with its value. It changes nothing if the key is there. */
  add(key: string, value: Value): void;
  delete(key: string): void;
  /** Whose turn it is; it keeps its value until it is deleted. There must be one. */
  next(): Value;
};

/**
 * More keys than this are a crowd. The one that came last would wait for all of them: where they are invented, for
 * minutes. So in a crowd every second turn goes to the newest key that had none since the crowd began, and who waits
 * longest waits at most twice as long.
 */
const crowdMin = 64;

function createTurns<Value>(): Turns<Value> {
  const values = new Map<string, Value>(); // in the order of their turns
  /** Keys of a crowd in the order of their coming; some are gone. */
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
      // Whoever comes and goes again and again is listed each time.
      if (newest.length > 2 * values.size + crowdMin)
        newest = [...new Set(newest.filter((it) => values.has(it)).reverse())].reverse();
    },
    delete: (key) => void values.delete(key),
    next() {
      const isCrowd = values.size > crowdMin;
      // Or it would grow as long as the crowd lasts.
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

// Runs work of the same key one after the other, in the order of the calls; work of different keys side by side.

export type KeyedMutex = {
  /** Gives the result of `work`. Its failure is this caller's alone: what waits behind it still runs. */
  runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
};

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async runExclusive(key, work) {
      const before = tails.get(key);
      const mine = before === undefined ? work() : before.then(work, work);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}
