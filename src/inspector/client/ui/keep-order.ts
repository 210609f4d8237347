/** Ordering of lists that must not move while someone points at them. */

export type Placed = { readonly key: string; readonly isGone: boolean };

/** Keeps all shown items in place, even if they are gone, and appends new ones. */
export function keepOrder(shown: readonly Placed[], now: readonly string[]): Placed[] {
  const [known, present] = [new Set(shown.map(({ key }) => key)), new Set(now)];
  const added = now.filter((key) => !known.has(key));
  return [
    ...shown.map(({ key }) => ({ key, isGone: !present.has(key) })),
    ...added.map((key) => ({ key, isGone: false })),
  ];
}

/** Whether `keepOne` would change the order. */
export const isMovedByKeepOne = (shown: readonly Placed[], now: readonly string[], kept: string | null): boolean =>
  keepOne(shown, now, kept)
    .map(({ key }) => key)
    .join('\n') !== shown.map(({ key }) => key).join('\n');

/** Returns the new order. If `kept` was shown and is gone, it stays before the item that followed it. */
export function keepOne(shown: readonly Placed[], now: readonly string[], kept: string | null): Placed[] {
  const order = now.map((key) => ({ key, isGone: false }));
  const index = shown.findIndex(({ key }) => key === kept);
  if (kept === null || index < 0 || now.includes(kept)) return order;
  const next = shown.slice(index).find(({ key }) => now.includes(key));
  order.splice(next === undefined ? order.length : now.indexOf(next.key), 0, { key: kept, isGone: true });
  return order;
}
