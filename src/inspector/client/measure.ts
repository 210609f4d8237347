/** What the page's own work takes, as the browser's tools and the bench read it. */
import { options } from 'preact';

let kept = 0;
const keptMax = 2_000;

export function measure<Result>(name: string, work: () => Result): Result {
  const start = performance.now();
  const result = work();
  if (kept >= keptMax) {
    performance.clearMeasures();
    kept = 0;
  }
  kept += 1;
  performance.measure(name, { start });
  return result;
}

/** Renders once a frame at most, and never in a page that nobody sees. */
export function renderByFrames(): void {
  options.debounceRendering = (render) => requestAnimationFrame(() => measure('render', render));
}
