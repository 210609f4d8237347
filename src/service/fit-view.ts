/**
 * Cuts a view that would not fit into a message: agents choose how much there is of nearly everything in it, and a reply that
 * is too large would be an error for whoever asks. `get` and `list` say in `cut` which fields are not whole.
 */
import { cutMiddle } from '../../machines/index.ts';

/** Texts of so few characters are left whole: ids (of 128 at most), states, times. */
const shortMax = 128;

/** @returns the view itself if it takes no more than `bytesMax` as JSON; else the largest of its fields are cut */
export function fitView<It extends object>(bytesMax: number, view: It): It & { readonly cut?: readonly string[] } {
  if (bytesOf(view) <= bytesMax) return view;
  const fitted = cutFields(bytesMax, view) as It;
  const cut = Object.keys(view).filter((key) => fitted[key as keyof It] !== view[key as keyof It]);
  return { ...fitted, cut };
}

// Views are made of what the fold has taken, so they nest to a depth that is bounded (protocol.md §2).
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

/** Each as much as the others; where that is not enough, the last are left out. */
function cutItems(bytesMax: number, items: readonly unknown[]): unknown[] {
  const each = Math.max(2 * shortMax, Math.floor(bytesMax / items.length));
  return whileTheyFit(bytesMax, items, (item) => cutTo(each, item));
}

/** No field is larger than those that are cut may be; where that is not enough, the last are left out. */
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

/** Returns how large the largest may be, so that all of them take no more than nine tenths of `bytesMax`. */
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
