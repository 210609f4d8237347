/**
 * What makes the lines of a snapshot small: the keys of objects that are alike stand once (a shape), and so do values
 * that many actors have in common. Both are lines of their own, before the first line that needs them.
 */

export type Json = unknown;
/** The number of its shape, then its values. */
export type Packed = readonly [shape: number, ...values: Json[]];

/** Verdicts with a number in their text are all different: more than these are written where they are. */
const sharedMax = 10_000;

export type Packer = {
  /** Keys whose value is undefined are left out, as JSON does. */
  pack(value: object): Packed;
  /** The number of `value`, which `name` tells from all others; the value itself where the table is full. */
  share(name: string, value: Json): Json;
  /** The lines that are due before the next one. */
  takeTables(): [table: 'shape' | 'value', text: string][];
};

export function createPacker(): Packer {
  const shapes = new Map<string, number>();
  const shared = new Map<string, number>();
  let due: [table: 'shape' | 'value', text: string][] = [];
  return {
    pack(value) {
      const keys: string[] = [];
      const values: Json[] = [];
      for (const [key, held] of Object.entries(value)) {
        if (held === undefined) continue;
        keys.push(key);
        values.push(held);
      }
      const text = JSON.stringify(keys);
      const known = shapes.get(text);
      if (known !== undefined) return [known, ...values];
      const shape = shapes.size;
      shapes.set(text, shape);
      due.push(['shape', text]);
      return [shape, ...values];
    },
    share(name, value) {
      const known = shared.get(name);
      if (known !== undefined) return known;
      if (shared.size >= sharedMax) return value;
      shared.set(name, shared.size);
      due.push(['value', JSON.stringify(value)]);
      return shared.size - 1;
    },
    takeTables() {
      const taken = due;
      if (taken.length > 0) due = [];
      return taken;
    },
  };
}

export type Unpacker = {
  unpack(packed: Packed): object;
  shared(value: Json): Json;
  addTable(table: string, text: string): void;
};

export function createUnpacker(): Unpacker {
  const shapes: (readonly string[])[] = [];
  const values: Json[] = [];
  return {
    unpack([shape, ...held]) {
      const keys = shapes[shape];
      if (keys === undefined) throw new Error(`the snapshot has no shape ${shape}`);
      return Object.fromEntries(keys.map((key, index) => [key, held[index]]));
    },
    shared: (value) => (typeof value === 'number' ? values[value] : value),
    addTable(table, text) {
      if (table === 'shape') shapes.push(JSON.parse(text) as string[]);
      else values.push(JSON.parse(text));
    },
  };
}
