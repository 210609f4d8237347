/** What part of the log the time axis shows: zoomed, moved and brushed. It is in the address. */

import type { Axis } from '../../time-axis.ts';
import { newestSeq, type Shown, shownRange } from '../data/outline.ts';
import { logRange } from '../data/past.ts';
import { navigate } from '../route.ts';

/** Fewer entries are not shown. */
const entriesMin = 10;

/**
 * @param fromSeq and `toSeq`: may lie outside of the log, and in any order
 * @param isOpen what is new is shown too; default: if the newest entry is
 */
export function showRange(fromSeq: number, toSeq: number, isOpen?: boolean): void {
  const first = Math.max(1, logRange.peek()?.firstSeq ?? 1);
  const last = newestSeq.peek();
  const missing = Math.max(0, entriesMin - Math.abs(toSeq - fromSeq));
  const from = Math.max(first, Math.round(Math.min(fromSeq, toSeq) - missing / 2));
  const to = Math.min(last, Math.round(Math.max(fromSeq, toSeq) + missing / 2));
  if (from >= to) return;
  const end = (isOpen ?? to >= last) ? null : to;
  navigate({ range: from <= first && end === null ? null : [from, end] }, 'replace');
}

/** @param factor over 1 shows more @param x stays where it is, in pixels */
export function zoomAbout(axis: Axis, x: number, factor: number): void {
  showRange(seqBeyond(axis, x - x * factor), seqBeyond(axis, x + (axis.width - x) * factor));
}

export const moveBy = (axis: Axis, pixels: number): void =>
  showRange(seqBeyond(axis, pixels), seqBeyond(axis, axis.width + pixels));

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
