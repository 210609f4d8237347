/**
 * A queue of all future events, in virtual time. A task belongs to a process: it does not run while the process is
 * suspended, and never after its death. Anything may crash between two tasks.
 */

export type Process = {
  readonly name: string;
  readonly alive: boolean;
  readonly paused: boolean;
  /** Offset of its clock from the true time, in milliseconds. */
  clockOffsetMs: number;
};

export type Task = { cancel(): void };

export type Scheduler = {
  readonly nowMs: number;
  /** The process whose task runs now, or null. */
  readonly current: Process | null;
  readonly steps: number;
  spawn(name: string): Process;
  kill(process: Process): void;
  pause(process: Process): void;
  resume(process: Process): void;
  /** @param process null for a task that always runs */
  after(process: Process | null, delayMs: number, run: () => void): Task;
  /** Runs tasks due up to `untilMs`, or until `isDone`. */
  runUntil(untilMs: number, isDone?: () => boolean): void;
};

type Entry = {
  readonly atMs: number;
  readonly order: number;
  readonly process: Owned | null;
  run: (() => void) | null;
};
type Owned = { name: string; alive: boolean; paused: boolean; clockOffsetMs: number; held: Entry[] };

/** 2026-01-01, which makes times in traces easy to read. */
export const epochMs = Date.UTC(2026, 0, 1);

/** Drains the microtask queue. Deprecated for programs, but exactly what a scheduler needs. */
const drain = (process as unknown as { _tickCallback(): void })._tickCallback;

export function createScheduler(): Scheduler {
  const heap = createHeap();
  let nowMs = epochMs;
  let order = 0;
  let steps = 0;
  let current: Owned | null = null;
  const push = (entry: Entry) => heap.push(entry);
  const runEntry = (entry: Entry) => {
    const { run, process: owner } = entry;
    entry.run = null;
    if (run === null || owner?.alive === false) return;
    if (owner?.paused) {
      owner.held.push({ ...entry, run });
      return;
    }
    steps += 1;
    current = owner;
    run();
    drain();
    current = null;
  };
  const schedule = (owner: Owned | null, delayMs: number, run: () => void): Entry => {
    order += 1;
    const entry: Entry = { atMs: nowMs + Math.max(0, delayMs), order, process: owner, run };
    push(entry);
    return entry;
  };
  return {
    get nowMs() {
      return nowMs;
    },
    get current() {
      return current;
    },
    get steps() {
      return steps;
    },
    spawn: (name) => ({ name, alive: true, paused: false, clockOffsetMs: 0, held: [] }) as Owned,
    kill(process) {
      (process as Owned).alive = false;
      (process as Owned).held = [];
    },
    pause(process) {
      (process as Owned).paused = true;
    },
    resume(process) {
      const owner = process as Owned;
      owner.paused = false;
      for (const { run } of owner.held.splice(0)) if (run !== null) schedule(owner, 0, run);
    },
    after(process, delayMs, run) {
      const entry = schedule(process as Owned | null, delayMs, run);
      return {
        cancel() {
          entry.run = null;
        },
      };
    },
    runUntil(untilMs, isDone = () => false) {
      for (let next = heap.peek(); next !== undefined && next.atMs <= untilMs; next = heap.peek()) {
        heap.pop();
        if (next.atMs > nowMs) nowMs = next.atMs;
        runEntry(next);
        if (isDone()) return;
      }
      nowMs = Math.max(nowMs, untilMs);
    },
  };
}

const isBefore = (a: Entry, b: Entry) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function createHeap() {
  const items: Entry[] = [];
  const swap = (a: number, b: number) => {
    [items[a], items[b]] = [items[b] as Entry, items[a] as Entry];
  };
  const at = (index: number) => items[index] as Entry;
  const sink = (start: number) => {
    for (let index = start; ; ) {
      const left = 2 * index + 1;
      const right = left + 1;
      let least = index;
      if (left < items.length && isBefore(at(left), at(least))) least = left;
      if (right < items.length && isBefore(at(right), at(least))) least = right;
      if (least === index) return;
      swap(index, least);
      index = least;
    }
  };
  return {
    peek: (): Entry | undefined => items[0],
    push(entry: Entry) {
      let index = items.push(entry) - 1;
      for (let parent = (index - 1) >> 1; index > 0 && isBefore(at(index), at(parent)); parent = (index - 1) >> 1) {
        swap(index, parent);
        index = parent;
      }
    },
    pop() {
      const last = items.pop();
      if (items.length === 0 || last === undefined) return;
      items[0] = last;
      sink(0);
    },
  };
}
