/**
 * A map that can be written in slices while it keeps changing, and that keeps some of its values in a short form until
 * they are needed. Fleets of 100,000 workers are written, started and held in this way.
 *
 * Its values are changed in place, but always after a call of `get`. So while a snapshot is being taken, `get` first
 * keeps a copy, and the snapshot reads that copy. A value that `get` has unpacked stays unpacked for a while.
 */

/** A value in its short form. */
export class Packed {
  readonly text: string;
  /** The object that it shares with others; null: none. */
  readonly shared: object | null;
  constructor(text: string, shared: object | null) {
    this.text = text;
    this.shared = shared;
  }
}

/** A value of a snapshot that is still to be decoded. */
class Encoded<Value> {
  readonly decode: () => Value;
  constructor(decode: () => Value) {
    this.decode = decode;
  }
}

export type Packing<Value> = {
  /** Returns null if the value is no longer at rest. */
  pack(value: Value): Packed | null;
  unpack(key: string, packed: Packed): Value;
};

/** The content at the time of the capture. */
export type Captured<Value> = {
  /** The keys in the map's order. */
  readonly keys: readonly string[];
  read(key: string): Value | Packed;
  /** Releases the copies. Call it when nothing more is read. */
  release(): void;
};

/** One step packs this many values, 10 µs each: thousands may come to rest together. */
const packedPerStep = 16;

export class SnapshotMap<Value extends object> extends Map<string, Value> {
  /** It is null if none of its values rest. */
  packing: Packing<Value> | null = null;
  readonly #copyValue: (value: Value) => Value;
  readonly #restingMax: number;
  /** Values at rest that are not packed, the one that rests the longest first. */
  readonly #resting = new Set<string>();
  /** Values of the snapshot that is being taken which may have changed since; null: none is being taken. */
  #kept: Map<string, Value | Packed> | null = null;
  #encodedCount = 0;

  /**
   * @param copyValue copies whatever is changed in place
   * @param restingMax so many values at rest stay unpacked, some 3 MB of workers: what has come to rest is often needed
   *   again soon, and to pack and unpack it is as much work as a decision
   */
  constructor(copyValue: (value: Value) => Value, restingMax = 1_024) {
    super();
    this.#copyValue = copyValue;
    this.#restingMax = restingMax;
  }

  /** Returns a value that may be changed in place: unpacks it, and copies it for a snapshot that is being taken. */
  override get(key: string): Value | undefined {
    const found = super.get(key) as Value | Packed | Encoded<Value> | undefined;
    if (found === undefined) return found;
    if (this.#kept !== null && !this.#kept.has(key)) this.#kept.set(key, this.#aside(found));
    if (found instanceof Packed) return this.#unpacked(key, found);
    return found instanceof Encoded ? this.#decoded(key, found) : found;
  }

  /** Returns a value for reading: a packed one stays packed. */
  read(key: string): Readonly<Value> | undefined {
    const found = super.get(key) as Value | Packed | Encoded<Value> | undefined;
    if (found instanceof Packed) return (this.packing as Packing<Value>).unpack(key, found);
    return found instanceof Encoded ? this.#decoded(key, found) : found;
  }

  override set(key: string, value: Value): this {
    if (this.has(key)) this.get(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    if (this.#kept !== null) this.get(key);
    this.#resting.delete(key);
    if ((super.get(key) as unknown) instanceof Encoded) this.#encodedCount -= 1;
    return super.delete(key);
  }

  setPacked(key: string, packed: Packed): void {
    super.set(key, packed as unknown as Value);
  }

  /** `decode` is called when the value is first needed. */
  setEncoded(key: string, decode: () => Value): void {
    super.set(key, new Encoded(decode) as unknown as Value);
    this.#encodedCount += 1;
  }

  /** The value has come to rest: it is packed after a while, unless `get` is called. */
  rest(key: string): void {
    this.#resting.delete(key);
    this.#resting.add(key);
  }

  /** Packs the values that have rested the longest. Call it when nobody holds a value to change it. */
  packResting(): void {
    for (let count = 0; this.#resting.size > this.#restingMax && count < packedPerStep; count += 1) {
      const [key] = this.#resting as Iterable<string> as [string];
      this.#resting.delete(key);
      const found = super.get(key);
      const packed = found === undefined ? null : (this.packing?.pack(found) ?? null);
      if (packed !== null) this.setPacked(key, packed);
    }
  }

  /** Decodes one after the other, so that the caller can pause in between. */
  *decodeAll(): Generator<void> {
    if (this.#encodedCount === 0) return;
    for (const [key, found] of super.entries() as MapIterator<[string, unknown]>) {
      if (found instanceof Encoded) this.#decoded(key, found as Encoded<Value>);
      yield;
    }
  }

  /** One snapshot at a time. */
  capture(): Captured<Value> {
    if (this.#kept !== null) throw new Error('another snapshot of this map is being taken');
    const kept = new Map<string, Value | Packed>();
    this.#kept = kept;
    return {
      keys: [...super.keys()],
      // A key that has no copy was neither read nor dropped meanwhile.
      read: (key) => kept.get(key) ?? this.#whole(key, super.get(key) as Value),
      release: () => {
        if (this.#kept === kept) this.#kept = null;
      },
    };
  }

  /** An independent copy; its `packing` is still to be set. */
  copy(): SnapshotMap<Value> {
    const copied = new SnapshotMap<Value>(this.#copyValue, this.#restingMax);
    for (const [key, found] of super.entries()) Map.prototype.set.call(copied, key, this.#aside(found));
    for (const key of this.#resting) copied.#resting.add(key);
    return copied;
  }

  /** Iterates over values for reading, as `read` returns them. */
  override *entries(): MapIterator<[string, Value]> {
    for (const key of super.keys()) yield [key, this.read(key) as Value];
  }

  override *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  override forEach(each: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this) each(value, key, this);
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  /** Returns the value in a form that is not changed in place any more. */
  #aside(found: Value | Packed | Encoded<Value>): Value | Packed {
    if (found instanceof Packed) return found;
    return found instanceof Encoded ? found.decode() : this.#copyValue(found);
  }

  #whole(key: string, found: Value | Packed | Encoded<Value>): Value | Packed {
    return found instanceof Encoded ? this.#decoded(key, found) : found;
  }

  #unpacked(key: string, packed: Packed): Value {
    const value = (this.packing as Packing<Value>).unpack(key, packed);
    super.set(key, value);
    this.#resting.add(key);
    return value;
  }

  #decoded(key: string, found: Encoded<Value>): Value {
    const value = found.decode();
    super.set(key, value);
    this.#encodedCount -= 1;
    return value;
  }
}
