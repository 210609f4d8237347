/**
 * A map that can be written to a snapshot in slices while it keeps changing, and whose values can be decoded lazily.
 * Callers change values in place, but only after `get`. So while a snapshot is being taken, `get` keeps a copy of the
 * value, and the snapshot reads the copy.
 */

/** A value from a snapshot that is not decoded yet. */
class Encoded<Value> {
  readonly decode: () => Value;
  constructor(decode: () => Value) {
    this.decode = decode;
  }
}

/** The content at the time of the capture. */
export type Captured<Value> = {
  /** The keys in the map's order. */
  readonly keys: readonly string[];
  read(key: string): Readonly<Value>;
  /** Drops the copies. Call it when reading is finished. */
  release(): void;
};

export class SnapshotMap<Value extends object> extends Map<string, Value> {
  readonly #copyValue: (value: Value) => Value;
  /** Copies of values that may have changed since the capture; null if no snapshot is being taken. */
  #kept: Map<string, Value> | null = null;
  #encodedCount = 0;

  /** @param copyValue must copy everything that callers change in place */
  constructor(copyValue: (value: Value) => Value) {
    super();
    this.#copyValue = copyValue;
  }

  /** Returns a value that may be changed in place. */
  override get(key: string): Value | undefined {
    const found = this.read(key) as Value | undefined;
    if (this.#kept !== null && found !== undefined && !this.#kept.has(key)) this.#kept.set(key, this.#copyValue(found));
    return found;
  }

  /** Returns a value for reading only, without keeping a copy. */
  read(key: string): Readonly<Value> | undefined {
    const found = super.get(key) as Value | Encoded<Value> | undefined;
    return found instanceof Encoded ? this.#decoded(key, found) : found;
  }

  /** `decode` is called when the value is first needed. */
  setEncoded(key: string, decode: () => Value): void {
    if (super.has(key)) this.delete(key);
    super.set(key, new Encoded(decode) as unknown as Value);
    this.#encodedCount += 1;
  }

  /** Decodes values one at a time, so that the caller can pause in between. */
  *decodeAll(): Generator<void> {
    for (const key of this.#encodedCount === 0 ? [] : super.keys()) {
      this.read(key);
      yield;
    }
  }

  override set(key: string, value: Value): this {
    if (this.#kept !== null || this.#encodedCount > 0) this.get(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    if (this.#kept !== null) this.get(key);
    if ((super.get(key) as unknown) instanceof Encoded) this.#encodedCount -= 1;
    return super.delete(key);
  }

  /** @throws Error if another snapshot of this map is being taken */
  capture(): Captured<Value> {
    if (this.#kept !== null) throw new Error('another snapshot of this map is being taken');
    const kept = new Map<string, Value>();
    this.#kept = kept;
    return {
      keys: [...super.keys()],
      // Without a copy, the value was neither changed nor deleted since.
      read: (key) => kept.get(key) ?? (this.read(key) as Value),
      release: () => {
        if (this.#kept === kept) this.#kept = null;
      },
    };
  }

  /** An independent copy. */
  copy(): SnapshotMap<Value> {
    const copied = new SnapshotMap<Value>(this.#copyValue);
    for (const [key, value] of this) copied.set(key, this.#copyValue(value));
    return copied;
  }

  override *entries(): MapIterator<[string, Value]> {
    for (const key of super.keys()) yield [key, this.read(key) as Value];
  }

  override *values(): MapIterator<Value> {
    for (const key of super.keys()) yield this.read(key) as Value;
  }

  override forEach(each: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this) each(value, key, this);
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  #decoded(key: string, found: Encoded<Value>): Value {
    const value = found.decode();
    super.set(key, value);
    this.#encodedCount -= 1;
    return value;
  }
}
