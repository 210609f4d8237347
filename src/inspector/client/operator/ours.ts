/** What this page has just acted on: so that it can tell its operator's work from that of others. */
import type { Topic } from '../../messages.ts';

let ours: ReadonlySet<string> = new Set();

const keyOf = ({ entity, id }: Topic) => `${entity}/${id}`;

/** Replaces those before. */
export function noteOurs(targets: readonly Topic[]): void {
  ours = new Set(targets.map(keyOf));
}

/** It was done by somebody else, or not at all; or it has been told. */
export function forgetOurs(key: string): void {
  ours = new Set([...ours].filter((it) => it !== key));
}

export const isOurs = (key: string | null): boolean => key !== null && ours.has(key);
export { keyOf as targetKey };
