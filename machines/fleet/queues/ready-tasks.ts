/**
 * The tasks that wait in one queue, in the order in which they should be claimed: a higher priority first, then the
 * older. Sorted in small parts, so that a task comes and goes in a queue of 100,000 as fast as in one of ten.
 */

/** `createdSeq`: the entry that created it, so that a task that comes back to its queue is as old as it was. */
export type ReadyTask = { readonly task: string; readonly priority: number; readonly createdSeq: number };

/** A part that is longer is divided: inserting moves a few hundred pointers at most. */
const partMax = 512;

export class ReadyTasks {
  /** Each sorted, none empty, and each before the next. */
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

  /** Adds it, or moves it to where it belongs now. */
  add(added: ReadyTask): void {
    this.delete(added.task);
    this.#byId.set(added.task, added);
    const at = Math.min(this.#partOf(added), this.#parts.length - 1);
    const part = this.#parts[at];
    if (part === undefined) {
      this.#parts.push([added]);
      return;
    }
    part.splice(indexIn(part, added), 0, added);
    if (part.length > partMax) this.#parts.splice(at + 1, 0, part.splice(partMax / 2));
  }

  delete(task: string): void {
    const known = this.#byId.get(task);
    if (known === undefined) return;
    this.#byId.delete(task);
    const at = this.#partOf(known);
    const part = this.#parts[at] as ReadyTask[];
    part.splice(indexIn(part, known), 1);
    if (part.length === 0) this.#parts.splice(at, 1);
  }

  *[Symbol.iterator](): Generator<ReadyTask> {
    for (const part of this.#parts) yield* part;
  }

  /** The first part whose last task does not come before this one; their number, if there is none. */
  #partOf(task: ReadyTask): number {
    return firstIndex(this.#parts.length, (at) => compare(this.#parts[at]?.at(-1) as ReadyTask, task) >= 0);
  }
}

const indexIn = (part: readonly ReadyTask[], task: ReadyTask): number =>
  firstIndex(part.length, (at) => compare(part[at] as ReadyTask, task) >= 0);

/** One entry creates one task; the ids only make the order total. */
function compare(a: ReadyTask, b: ReadyTask): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.createdSeq !== b.createdSeq) return a.createdSeq - b.createdSeq;
  return a.task < b.task ? -1 : a.task > b.task ? 1 : 0;
}

/** The first index for which it holds, if it holds for all behind that; else `count`. */
function firstIndex(count: number, holds: (at: number) => boolean): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
