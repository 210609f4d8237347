/** What part of the log the time axis shows: zoomed, moved and brushed. It is in the address. */

import type { Axis } from '../../time-axis.ts';
import { newestSeq, type Shown, shownRange } from '../data/outline.ts';
import { logRange } from '../data/past.ts';
import { navigate } from '../route.ts';

/**
 * Two entries at least, or there would be no time between them.
 * @param fromSeq and `toSeq`: may lie outside of the log, and in any order
 * @param isOpen what is new is shown too; default: if the newest entry is
 */
export function showRange(fromSeq: number, toSeq: number, isOpen?: boolean): void {
  const [first, last] = logEnds();
  if (last <= first) return;
  const from = Math.min(last - 1, Math.max(first, Math.round(Math.min(fromSeq, toSeq))));
  const to = Math.min(last, Math.max(from + 1, Math.round(Math.max(fromSeq, toSeq))));
  const end = (isOpen ?? to >= last) ? null : to;
  navigate({ range: from <= first && end === null ? null : [from, end] }, 'replace');
}

const logEnds = (): [first: number, last: number] => [Math.max(1, logRange.peek()?.firstSeq ?? 1), newestSeq.peek()];

/** @param factor over 1 shows more, one entry at each end at least @param x stays where it is, in pixels */
export function zoomAbout(axis: Axis, x: number, factor: number): void {
  const [from, to] = [seqBeyond(axis, x - x * factor), seqBeyond(axis, x + (axis.width - x) * factor)];
  const { fromSeq, toSeq } = shownRange.peek();
  if (factor > 1) showRange(Math.min(from, fromSeq - 1), Math.max(to, toSeq + 1));
  else if (toSeq - fromSeq > 1) showRange(from, to);
}

/** By one entry at least, up to the end of the log. */
export function moveBy(axis: Axis, pixels: number): void {
  const [from, to] = [seqBeyond(axis, pixels), seqBeyond(axis, axis.width + pixels)];
  const { fromSeq, toSeq } = shownRange.peek();
  const [first, last] = logEnds();
  if (pixels < 0 && fromSeq > first) showRange(Math.min(from, fromSeq - 1), Math.min(to, toSeq - 1));
  if (pixels > 0 && toSeq < last) showRange(Math.max(from, fromSeq + 1), Math.max(to, toSeq + 1));
}

/** Outside of what is shown the times are not known, so it goes on by as many entries as there are on screen. */
function seqBeyond(axis: Axis, x: number): number {
  if (x >= 0 && x <= axis.width) return axis.seqAt(x);
  const { fromSeq, toSeq }: Shown = shownRange.peek();
  const each = (toSeq - fromSeq) / axis.width;
  return x < 0 ? fromSeq + x * each : toSeq + (x - axis.width) * each;
}

/** To the entry, if it is not on screen. */
export function bringIntoView(seq: number): void {
  const { fromSeq, toSeq } = shownRange.peek();
  if (seq >= fromSeq && seq <= toSeq) return;
  const half = (toSeq - fromSeq) / 2;
  showRange(seq - half, seq + half);
}
