/** Lists that hold still while somebody points at them: what was going to be clicked stays where it is. */

export type Placed = { readonly key: string; readonly isGone: boolean };

/** What is shown keeps its place, also when it is gone; what is new comes last. */
export function keepOrder(shown: readonly Placed[], now: readonly string[]): Placed[] {
  const [known, present] = [new Set(shown.map(({ key }) => key)), new Set(now)];
  const added = now.filter((key) => !known.has(key));
  return [
    ...shown.map(({ key }) => ({ key, isGone: !present.has(key) })),
    ...added.map((key) => ({ key, isGone: false })),
  ];
}

/** Whether `keepOne` would move anything. */
export const isMovedByKeepOne = (shown: readonly Placed[], now: readonly string[], kept: string | null): boolean =>
  keepOne(shown, now, kept)
    .map(({ key }) => key)
    .join('\n') !== shown.map(({ key }) => key).join('\n');

/** The new order; but `kept`, if it was shown and is gone, stands before what it stood before. */
export function keepOne(shown: readonly Placed[], now: readonly string[], kept: string | null): Placed[] {
  const order = now.map((key) => ({ key, isGone: false }));
  const at = shown.findIndex(({ key }) => key === kept);
  if (kept === null || at < 0 || now.includes(kept)) return order;
  const next = shown.slice(at).find(({ key }) => now.includes(key));
  order.splice(next === undefined ? order.length : now.indexOf(next.key), 0, { key: kept, isGone: true });
  return order;
}
