/**
 * A map whose content can be written away in slices while it goes on changing, and read back without decoding what
 * nobody asks for. A fleet of 100,000 workers is written and started so without anyone waiting.
 *
 * Its values are changed in place, but never without `get` before. So as long as a snapshot is being taken `get` sets a
 * copy aside, and the snapshot reads that copy instead.
 */

/** A value that is still to be decoded. */
class Encoded<Value> {
  readonly decode: () => Value;
  constructor(decode: () => Value) {
    this.decode = decode;
  }
}

/** The content as it was when it was captured. */
export type Captured<Value> = {
  /** In the map's order. */
  readonly keys: readonly string[];
  read(key: string): Value;
  /** Nothing more is read. */
  release(): void;
};

export class SnapshotMap<Value extends object> extends Map<string, Value> {
  readonly #copyValue: (value: Value) => Value;
  /** Values of the snapshot that is being taken which may have changed since; null: none is being taken. */
  #kept: Map<string, Value> | null = null;
  #encodedCount = 0;

  /** `copyValue` copies whatever is changed in place. */
  constructor(copyValue: (value: Value) => Value) {
    super();
    this.#copyValue = copyValue;
  }

  override get(key: string): Value | undefined {
    const found = super.get(key);
    if (found === undefined || (this.#kept === null && this.#encodedCount === 0)) return found;
    const value = this.#decoded(key, found);
    if (this.#kept !== null && !this.#kept.has(key)) this.#kept.set(key, this.#copyValue(value));
    return value;
  }

  override set(key: string, value: Value): this {
    if (this.has(key)) this.get(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    this.get(key);
    return super.delete(key);
  }

  /** `decode` is called when the value is first needed. */
  setEncoded(key: string, decode: () => Value): void {
    super.set(key, new Encoded(decode) as unknown as Value);
    this.#encodedCount += 1;
  }

  /** Decodes one after the other, so that the caller can pause in between. */
  *decodeAll(): Generator<void> {
    if (this.#encodedCount === 0) return;
    for (const [key, found] of super.entries()) {
      this.#decoded(key, found);
      yield;
    }
  }

  /** One snapshot at a time. */
  capture(): Captured<Value> {
    if (this.#kept !== null) throw new Error('another snapshot of this map is being taken');
    const kept = new Map<string, Value>();
    this.#kept = kept;
    return {
      keys: [...super.keys()],
      // A key that has no copy was neither read nor dropped meanwhile.
      read: (key) => kept.get(key) ?? this.#decoded(key, super.get(key) as Value),
      release: () => {
        if (this.#kept === kept) this.#kept = null;
      },
    };
  }

  /** Independent from here. */
  copy(): SnapshotMap<Value> {
    const copied = new SnapshotMap<Value>(this.#copyValue);
    for (const [key, value] of this) copied.set(key, this.#copyValue(value));
    return copied;
  }

  override entries(): MapIterator<[string, Value]> {
    for (const _ of this.decodeAll());
    return super.entries();
  }

  override values(): MapIterator<Value> {
    for (const _ of this.decodeAll());
    return super.values();
  }

  override forEach(each: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this) each(value, key, this);
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  #decoded(key: string, found: Value): Value {
    if (!(found instanceof Encoded)) return found;
    const value = (found as Encoded<Value>).decode();
    super.set(key, value);
    this.#encodedCount -= 1;
    return value;
  }
}
