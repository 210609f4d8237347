/**
 * Shortens views that do not fit into a message. Agents choose the size of most fields, and an oversized reply would be
 * an error for the reader. The field `cut` of a view lists the shortened fields.
 */
import { cutMiddle } from '../../machines/index.ts';

/** Texts up to this length are never cut: ids (128 characters at most), states, times. */
const shortMax = 128;

/** @returns the view itself if its JSON has at most `bytesMax` bytes; otherwise a copy with its largest fields cut */
export function fitView<View extends object>(
  bytesMax: number,
  view: View,
): View & { readonly cut?: readonly string[] } {
  if (bytesOf(view) <= bytesMax) return view;
  const fitted = cutFields(bytesMax, view) as View;
  const cut = Object.keys(view).filter((key) => fitted[key as keyof View] !== view[key as keyof View]);
  return { ...fitted, cut };
}

// The recursion is bounded, because entries are: views consist of accepted entries (protocol.md §2).
function cutTo(bytesMax: number, value: unknown): unknown {
  const bytes = bytesOf(value);
  if (bytes <= bytesMax) return value;
  if (typeof value === 'string') {
    const { length } = [...value];
    return length <= shortMax ? value : cutMiddle(value, Math.max(shortMax, Math.floor((length * bytesMax) / bytes)));
  }
  if (Array.isArray(value)) return cutItems(bytesMax, value);
  return typeof value === 'object' && value !== null ? cutFields(bytesMax, value) : value;
}

/** Cuts all items to the same size. If that is not enough, drops the last ones. */
function cutItems(bytesMax: number, items: readonly unknown[]): unknown[] {
  const each = Math.max(2 * shortMax, Math.floor(bytesMax / items.length));
  return whileTheyFit(bytesMax, items, (item) => cutTo(each, item));
}

/** Cuts the largest fields to one common size. If that is not enough, drops the last ones. */
function cutFields(bytesMax: number, value: object): object {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const each = levelOf(
    bytesMax,
    fields.map((field) => bytesOf(field)),
  );
  return Object.fromEntries(whileTheyFit(bytesMax, fields, ([key, field]) => [key, cutTo(each, field)] as const));
}

function whileTheyFit<Item, Cut>(bytesMax: number, items: readonly Item[], cut: (item: Item) => Cut): Cut[] {
  const kept: Cut[] = [];
  let left = bytesMax;
  for (const item of items) {
    const made = cut(item);
    left -= bytesOf(made) + 1;
    if (left >= 0) kept.push(made);
  }
  return kept;
}

/** Returns the largest allowed size, so that all fields together take at most nine tenths of `bytesMax`. */
function levelOf(bytesMax: number, sizes: readonly number[]): number {
  let left = 0.9 * bytesMax;
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return Math.floor(share);
    left -= size;
  }
  return bytesMax;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
