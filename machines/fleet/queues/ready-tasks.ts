/**
 * The ready tasks of one queue in claiming order: higher priority first, then older. Stored as small sorted parts, so
 * that adding and removing stays fast in a queue of 100,000.
 */

/** `createdSeq`: the entry that created the task, so that a task that returns to its queue keeps its age. */
export type ReadyTask = { readonly task: string; readonly priority: number; readonly createdSeq: number };

/** Longer parts are split, so inserting moves at most a few hundred pointers. */
const partMax = 512;

export class ReadyTasks {
  /** Sorted parts in order, none empty. */
  readonly #parts: ReadyTask[][] = [];
  readonly #byId = new Map<string, ReadyTask>();

  constructor(tasks: Iterable<ReadyTask> = []) {
    for (const task of tasks) this.add(task);
  }

  get size(): number {
    return this.#byId.size;
  }

  has(task: string): boolean {
    return this.#byId.has(task);
  }

  /** Adds a task, or moves it to its new position. */
  add(added: ReadyTask): void {
    this.delete(added.task);
    this.#byId.set(added.task, added);
    const index = Math.min(this.#partIndexOf(added), this.#parts.length - 1);
    const part = this.#parts[index];
    if (part === undefined) {
      this.#parts.push([added]);
      return;
    }
    part.splice(indexIn(part, added), 0, added);
    if (part.length > partMax) this.#parts.splice(index + 1, 0, part.splice(partMax / 2));
  }

  delete(task: string): void {
    const known = this.#byId.get(task);
    if (known === undefined) return;
    this.#byId.delete(task);
    const index = this.#partIndexOf(known);
    const part = this.#parts[index] as ReadyTask[];
    part.splice(indexIn(part, known), 1);
    if (part.length === 0) this.#parts.splice(index, 1);
  }

  *[Symbol.iterator](): Generator<ReadyTask> {
    for (const part of this.#parts) yield* part;
  }

  /** Returns the first part whose last task does not come before this one, or the number of parts. */
  #partIndexOf(task: ReadyTask): number {
    return firstIndex(this.#parts.length, (index) => compare(this.#parts[index]?.at(-1) as ReadyTask, task) >= 0);
  }
}

const indexIn = (part: readonly ReadyTask[], task: ReadyTask): number =>
  firstIndex(part.length, (index) => compare(part[index] as ReadyTask, task) >= 0);

/** One entry creates one task; comparing ids only makes the order total. */
function compare(a: ReadyTask, b: ReadyTask): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.createdSeq !== b.createdSeq) return a.createdSeq - b.createdSeq;
  return a.task < b.task ? -1 : a.task > b.task ? 1 : 0;
}

/**
 * Binary search: returns the first index that satisfies `holds`, which must then hold for all later ones, or `count`.
 */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
