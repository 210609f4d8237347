/** Collects the commands of a turn, which then leave in one write. */
import { slabBytes } from './frames.ts';

const turn = Promise.resolve();

export class SendBuffer {
  readonly #write: (bytes: Buffer) => void;
  /** What was written of it may still wait in the socket, so it is filled once. */
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #start = 0;
  #end = 0;
  #isDue = false;
  readonly #endTurn = () => {
    this.#isDue = false;
    this.flush();
  };

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Appends one command, which is never cut in two. `bytesMax`: it has no more than this. */
  push(bytesMax: number, head: string | Uint8Array, body: string | Uint8Array = '', tail = ''): void {
    this.#reserve(bytesMax);
    // Texts that stand side by side are written in one call.
    if (typeof head !== 'string') this.#append(head);
    if (typeof body === 'string') this.#append(typeof head === 'string' ? head + body + tail : body + tail);
    else {
      if (typeof head === 'string') this.#append(head);
      this.#append(body);
      this.#append(tail);
    }
  }

  #append(part: string | Uint8Array): void {
    if (typeof part === 'string') this.#end += this.#slab.write(part, this.#end);
    else {
      this.#slab.set(part, this.#end);
      this.#end += part.length;
    }
  }

  /** Writes what was pushed, now. */
  flush(): void {
    if (this.#end === this.#start) return;
    const bytes = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#write(bytes);
  }

  #reserve(bytes: number): void {
    if (!this.#isDue) {
      this.#isDue = true;
      // The microtask of a promise: `queueMicrotask` would make three objects for it.
      void turn.then(this.#endTurn);
    }
    if (this.#end + bytes <= this.#slab.length) return;
    this.flush();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
    this.#start = 0;
    this.#end = 0;
  }
}
