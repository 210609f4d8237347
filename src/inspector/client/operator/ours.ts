/** What this page has just acted on: so that it can tell its operator's work from that of others. */
import { signal } from '@preact/signals';
import type { Topic } from '../../messages.ts';

/** The log's entry of each action; infinite until it is known. */
let ours: ReadonlyMap<string, number> = new Map();

const keyOf = ({ entity, id }: Topic) => `${entity}/${id}`;

/** As `ours`, of the last action, also when its effect has been shown. */
const stored = signal<ReadonlyMap<string, number>>(new Map());

/** Replaces those before. */
export function noteOurs(targets: readonly Topic[]): void {
  ours = new Map(targets.map((it) => [keyOf(it), Number.POSITIVE_INFINITY]));
  stored.value = new Map();
}

/** @param seq the entry of the action on it */
export function noteStored(key: string, seq: number): void {
  if (ours.has(key)) ours = new Map([...ours, [key, seq]]);
  stored.value = new Map([...stored.peek(), [key, seq]]);
}

/** It was done by somebody else, or not at all; or it has been told. */
export function forgetOurs(key: string): void {
  ours = new Map([...ours].filter(([it]) => it !== key));
}

/** What the page has shown the effect of: what comes after `seq` is somebody else's. */
export function forgetShown(seq: number): void {
  ours = new Map([...ours].filter(([, it]) => it > seq));
}

/** The entry of this page's last action, if it was on this actor; 0: it was not. */
export const storedSeq = (key: string): number => stored.value.get(key) ?? 0;

export const isOurs = (key: string | null): boolean => key !== null && ours.has(key);
export { keyOf as targetKey };
