/** Shares a text in a link: compressed, after the `#`, so that it is not sent to any server. Groups differences. */
import type { WhatIfDifference } from '../../messages.ts';

const prefix = '#policy=';
/** Longer links are cut off by chat programs. */
export const sharedCharsMax = 20_000;

export async function toFragment(text: string): Promise<string> {
  const bytes = await pass(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return prefix + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Resolves to null if the fragment has no shared text, or was cut off. */
export async function fromFragment(fragment: string): Promise<string | null> {
  if (!fragment.startsWith(prefix)) return null;
  try {
    const binary = atob(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return new TextDecoder().decode(await pass(bytes, new DecompressionStream('deflate-raw')));
  } catch {
    return null;
  }
}

/** @throws Error if the output exceeds `bytesMax`, because a short link may expand to gigabytes */
async function pass(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  bytesMax = 4 * sharedCharsMax,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    length += value.length;
    if (length > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    parts.push(value);
  }
}

/** Differences are grouped by the change of policy, guard or cause. */
export const groupings = ['policy', 'guard', 'cause'] as const;
export type Grouping = (typeof groupings)[number];
export type Group = { readonly title: string; readonly differences: readonly WhatIfDifference[] };

/** Sorted by size, unknown results last. */
export function groupDifferences(differences: readonly WhatIfDifference[], by: Grouping): Group[] {
  const groups = new Map<string, WhatIfDifference[]>();
  for (const difference of differences) {
    const title = titleOf(difference, by);
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [difference]);
    else group.push(difference);
  }
  const rank = ({ differences: [first] }: Group) => (first?.after === null ? 1 : 0);
  return [...groups]
    .map(([title, found]) => ({ title, differences: found }))
    .sort((a, b) => rank(a) - rank(b) || b.differences.length - a.differences.length);
}

function titleOf({ before, after, guards, missingCheck }: WhatIfDifference, by: Grouping): string {
  if (after === null)
    return missingCheck === null ? 'it would still be held' : `the log has no result of ${missingCheck}`;
  if (by === 'policy') return change(before.policy.name, after.policy.name);
  return by === 'cause' ? change(before.cause, after.cause) : change(guards[0] ?? 'none', guards[1] ?? 'none');
}

const change = (before: string, after: string): string => (before === after ? before : `${before} → ${after}`);
