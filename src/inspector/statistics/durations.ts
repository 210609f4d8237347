/** How long things took, counted in classes whose bounds grow by a quarter, so that any number of them takes little room. */

const growth = Math.log(1.25);
/** About five days: longer ones count as that. */
const classesMax = 90;

/** By class: how many. */
export type Durations = Map<number, number>;

export function addDuration(durations: Durations, ms: number): void {
  const found = ms <= 1 ? 0 : Math.min(classesMax, Math.ceil(Math.log(ms) / growth));
  durations.set(found, (durations.get(found) ?? 0) + 1);
}

export function mergeDurations(into: Durations, from: Durations): void {
  for (const [found, count] of from) into.set(found, (into.get(found) ?? 0) + count);
}

/** The upper bound of the class in which the quantile lies, at most a quarter too large; null: there are none. */
export function quantileOf(durations: Durations, part: number): number | null {
  const total = [...durations.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = Math.ceil(total * part);
  for (const [found, count] of [...durations].sort(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return Math.round(Math.exp(found * growth));
  }
  return null;
}
