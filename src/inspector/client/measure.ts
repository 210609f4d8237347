/** Performance measures of the page, for the browser's tools and the bench. */
import { options } from 'preact';

let count = 0;
const countMax = 2_000;

export function measure<Result>(name: string, work: () => Result): Result {
  const start = performance.now();
  const result = work();
  if (count >= countMax) {
    performance.clearMeasures();
    count = 0;
  }
  count += 1;
  performance.measure(name, { start });
  return result;
}

/** Renders what changes at once instead of with the next frame. */
export function renderNow(change: () => void): void {
  const { debounceRendering } = options;
  options.debounceRendering = (render) => render();
  change();
  Object.assign(options, { debounceRendering });
}

/** Makes Preact render at most once per frame, and never in a hidden page. */
export function renderByFrames(): void {
  options.debounceRendering = (render) => requestAnimationFrame(() => measure('render', render));
}
