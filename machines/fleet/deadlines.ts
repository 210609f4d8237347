/**
 * The moments at which something happens by itself: a binary heap, earliest first. What is due at one moment comes in
 * a fixed order (kind, then id), so that equal logs are folded equally whenever a deadline was set.
 */

/**
 * `attempt` and `evaluation` wait for it; `escalate` and `release` take a stale worker's tasks away; `forget…` drop
 * what is stopped; the others only change what is shown.
 */
export type Deadline = {
  readonly atMs: number;
  readonly kind: 'attempt' | 'evaluation' | 'limit' | 'stale' | 'escalate' | 'release' | 'forgetWorker' | 'forgetTask';
  /** The worker or task. */
  readonly id: string;
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
} as const;

/** By their rank. */
export const deadlineKinds = Object.keys(ranks) as Deadline['kind'][];

export type Deadlines = {
  push(deadline: Deadline): void;
  peek(): Deadline | undefined;
  pop(): Deadline | undefined;
  readonly size: number;
  copy(): Deadlines;
  /** In the heap's own order. */
  toArray(): readonly Deadline[];
};

export function createDeadlines(from: readonly Deadline[] = []): Deadlines {
  const heap = [...from];
  const swap = (a: number, b: number) => {
    const held = heap[a] as Deadline;
    heap[a] = heap[b] as Deadline;
    heap[b] = held;
  };
  const before = (a: number, b: number) => isBefore(heap[a] as Deadline, heap[b] as Deadline);
  return {
    push(deadline) {
      heap.push(deadline);
      for (let at = heap.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!before(at, parent)) return;
        swap(at, parent);
        at = parent;
      }
    },
    peek: () => heap[0],
    pop() {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let at = 0; ; ) {
        const left = 2 * at + 1;
        const right = left + 1;
        let least = at;
        if (left < heap.length && before(left, least)) least = left;
        if (right < heap.length && before(right, least)) least = right;
        if (least === at) return first;
        swap(at, least);
        at = least;
      }
    },
    get size() {
      return heap.length;
    },
    copy: () => createDeadlines(heap),
    toArray: () => [...heap],
  };
}

function isBefore(a: Deadline, b: Deadline): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.kind !== b.kind) return ranks[a.kind] < ranks[b.kind];
  return a.id !== b.id ? a.id < b.id : a.attempt < b.attempt;
}
