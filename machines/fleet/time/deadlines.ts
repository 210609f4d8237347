/**
 * A binary heap of deadlines, earliest first. Deadlines with equal times are ordered by kind, then id, so that equal
 * logs are folded equally no matter when a deadline was set.
 */

/**
 * `attempt` and `evaluation` time out an attempt or evaluation. `escalate` and `release` take the tasks from a stale
 * worker; they are then escalated with it or handed back. `forget…` drop stopped actors. `waiting` and `unattended`
 * lead to notices. `limit` and `stale` update the presence. Snapshots contain these names.
 */
export type Deadline = {
  readonly atMs: number;
  readonly kind: keyof typeof ranks;
  /** Id of the worker, task or queue. */
  readonly id: string;
  /** The attempt or evaluation; the scope of a `limit`; otherwise ''. */
  readonly attempt: string;
};

const ranks = {
  attempt: 0,
  evaluation: 1,
  limit: 2,
  stale: 3,
  escalate: 4,
  release: 5,
  forgetWorker: 6,
  forgetTask: 7,
  waiting: 8,
  unattended: 9,
} as const;

/** The kinds in the order of their ranks. */
export const deadlineKinds = Object.keys(ranks) as Deadline['kind'][];

export type Deadlines = {
  push(deadline: Deadline): void;
  peek(): Deadline | undefined;
  pop(): Deadline | undefined;
  readonly size: number;
  /** Returns when the first is due, or infinity if there is none. */
  dueMs(): number;
  /** Returns a number that identifies the time and kind of the first deadline; -1 if there is none. */
  firstMark(): number;
  copy(): Deadlines;
  /** Replaces all deadlines with these. */
  reset(kept: readonly Deadline[]): void;
  /** Returns a slice in heap order, like `Array.slice`. */
  toArray(from?: number, to?: number): readonly Deadline[];
};

export const createDeadlines = (): Deadlines => deadlinesOf(createHeap());

function deadlinesOf(heap: Heap): Deadlines {
  const deadlines: Deadlines = {
    push(deadline) {
      heap.append(deadline);
      for (let index = heap.size() - 1; index > 0; ) {
        const parent = (index - 1) >> 1;
        if (!heap.isBefore(index, parent)) return;
        heap.swap(index, parent);
        index = parent;
      }
    },
    peek: () => (heap.size() === 0 ? undefined : heap.at(0)),
    pop() {
      if (heap.size() === 0) return undefined;
      const first = heap.at(0);
      heap.swap(0, heap.size() - 1);
      heap.dropLast();
      for (let index = 0; ; ) {
        const left = 2 * index + 1;
        const right = left + 1;
        let least = index;
        if (left < heap.size() && heap.isBefore(left, least)) least = left;
        if (right < heap.size() && heap.isBefore(right, least)) least = right;
        if (least === index) return first;
        heap.swap(index, least);
        index = least;
      }
    },
    get size() {
      return heap.size();
    },
    dueMs: () => heap.dueMs(),
    firstMark: () => heap.firstMark(),
    copy: () => deadlinesOf(heap.copy()),
    reset(kept) {
      while (heap.size() > 0) heap.dropLast();
      for (const deadline of kept) deadlines.push(deadline);
    },
    toArray: (from, to) => heap.toArray(from, to),
  };
  return deadlines;
}

/** The id and attempt of a deadline. Most deadlines have no attempt and store the id alone. */
type About = string | Pick<Deadline, 'id' | 'attempt'>;

type Heap = {
  size(): number;
  /** Infinity if the heap is empty. */
  dueMs(): number;
  firstMark(): number;
  at(index: number): Deadline;
  append(deadline: Deadline): void;
  dropLast(): void;
  swap(a: number, b: number): void;
  isBefore(a: number, b: number): boolean;
  copy(): Heap;
  toArray(from?: number, to?: number): Deadline[];
};

/** Uses one array per field. Nearly every worker has a deadline, and objects would take four times the memory. */
function createHeap(times: number[] = [], abouts: About[] = [], kinds = new Uint8Array(16)): Heap {
  const idAt = (index: number): string => {
    const about = abouts[index] as About;
    return typeof about === 'string' ? about : about.id;
  };
  const attemptAt = (index: number): string => {
    const about = abouts[index] as About;
    return typeof about === 'string' ? '' : about.attempt;
  };
  const at = (index: number): Deadline => ({
    atMs: times[index] as number,
    kind: deadlineKinds[kinds[index] as number] as Deadline['kind'],
    id: idAt(index),
    attempt: attemptAt(index),
  });
  return {
    size: () => times.length,
    dueMs: () => times[0] ?? Number.POSITIVE_INFINITY,
    // Exact, because times have 41 bits.
    firstMark: () => (times.length === 0 ? -1 : (times[0] as number) * deadlineKinds.length + (kinds[0] as number)),
    at,
    append({ atMs, kind, id, attempt }: Deadline) {
      if (times.length === kinds.length) kinds = grown(kinds);
      kinds[times.length] = ranks[kind];
      times.push(atMs);
      abouts.push(attempt === '' ? id : { id, attempt });
    },
    dropLast() {
      times.pop();
      abouts.pop();
    },
    swap(a: number, b: number) {
      swapIn(times, a, b);
      swapIn(abouts, a, b);
      swapIn(kinds, a, b);
    },
    isBefore(a: number, b: number): boolean {
      if (times[a] !== times[b]) return (times[a] as number) < (times[b] as number);
      if (kinds[a] !== kinds[b]) return (kinds[a] as number) < (kinds[b] as number);
      if (idAt(a) !== idAt(b)) return idAt(a) < idAt(b);
      return attemptAt(a) < attemptAt(b);
    },
    // Copying 100,000 deadlines takes less than a millisecond.
    copy: () => createHeap(times.slice(), abouts.slice(), kinds.slice()),
    toArray(from = 0, to = times.length) {
      const some: Deadline[] = [];
      for (let index = from; index < Math.min(to, times.length); index += 1) some.push(at(index));
      return some;
    },
  };
}

function grown(kinds: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(kinds.length * 2);
  more.set(kinds);
  return more;
}

function swapIn<Item>(column: { [index: number]: Item }, a: number, b: number): void {
  const held = column[a] as Item;
  column[a] = column[b] as Item;
  column[b] = held;
}
