/** Collects the commands of a turn, which then leave in one write. */
import { slabBytes } from './frames.ts';

export class SendBuffer {
  readonly #write: (bytes: Buffer) => void;
  /** What was written of it may still wait in the socket, so it is filled once. */
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #start = 0;
  #end = 0;
  #isDue = false;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Appends the parts of one command, which is never cut in two. `bytesMax`: they have no more than this together. */
  push(bytesMax: number, ...parts: readonly (string | Uint8Array)[]): void {
    this.#reserve(bytesMax);
    for (const part of parts) {
      if (typeof part === 'string') this.#end += this.#slab.write(part, this.#end);
      else {
        this.#slab.set(part, this.#end);
        this.#end += part.length;
      }
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
      queueMicrotask(() => {
        this.#isDue = false;
        this.flush();
      });
    }
    if (this.#end + bytes <= this.#slab.length) return;
    this.flush();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
    this.#start = 0;
    this.#end = 0;
  }
}
