/** A deterministic random generator: the same seed and calls give the same numbers. */

export type Random = {
  /** A number in [0, 1). */
  next(): number;
  /** An integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number;
  /** A number from `min` to `max`, uniform on a logarithmic scale. */
  spread(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** An independent generator, whose use does not affect this one. */
  fork(purpose: string): Random;
};

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32: 32 bits of state are enough for a few thousand choices per run.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    spread: (min, max) => min * (max / min) ** next(),
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)] as (typeof items)[number],
    fork: (purpose) => createRandom(hash(purpose, int(0, 2 ** 32 - 1))),
  };
}

function hash(text: string, start: number): number {
  let value = start >>> 0;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return value;
}
