/** The state of the policy lab: its text, and the last stops decided again under it. */
import { signal } from '@preact/signals';
import type { WhatIfAnswer } from '../../messages.ts';
import { ApiError, askPatiently, get, type Issue, type Progress } from '../data/api.ts';

const textKey = 'stopgate.policy';
export const attemptsMax = 10_000;
/** Delay between the last keystroke and the request. */
const pauseMs = 500;

export type Problem = { readonly message: string; readonly issues: readonly Issue[] };

export const text = signal(sessionStorage.getItem(textKey) ?? '');
/** The policies in force, or null while unknown. */
export const inForce = signal<string | null>(null);
export const last = signal(200);
export const isBusy = signal(false);
export const progress = signal<Progress | null>(null);
export const answer = signal<WhatIfAnswer | null>(null);
export const problem = signal<Problem | null>(null);

let comparison = new AbortController();
let pause: ReturnType<typeof setTimeout> | undefined;

/** Call this when the text has changed. It is compared once typing pauses. */
export function change(next: string): void {
  if (next === text.peek()) return;
  text.value = next;
  sessionStorage.setItem(textKey, next);
  compareSoon();
}

export function compareSoon(): void {
  clearTimeout(pause);
  pause = setTimeout(() => void compare(), pauseMs);
}

export function cancel(): void {
  clearTimeout(pause);
  comparison.abort();
}

/** Loads the policies in force. @param when whether they replace the text always, or only if it is empty */
export async function loadInForce(when: 'always' | 'if empty'): Promise<void> {
  try {
    inForce.value = (await get<{ text: string }>('policy')).text;
    if (when === 'always' || text.peek() === '') change(inForce.value);
  } catch (error) {
    problem.value = { message: (error as Error).message, issues: [] };
  }
}

/** Sets the text to the policies in force, with this number of retries in each. */
export async function tryRetries(retries: number): Promise<void> {
  await loadInForce('always');
  change(text.peek().replace(/(\bretries: *)(\d+|null)/g, `$1${retries}`));
}

export async function compare(): Promise<void> {
  cancel();
  comparison = new AbortController();
  const { signal: aborted } = comparison;
  isBusy.value = true;
  try {
    const question = { policy: text.peek(), last: last.peek() };
    const found = await askPatiently<WhatIfAnswer>('what-if', question, aborted, (news) => {
      progress.value = news;
    });
    if (aborted.aborted) return;
    answer.value = found;
    problem.value = null;
  } catch (error) {
    if (aborted.aborted) return;
    problem.value = { message: (error as Error).message, issues: error instanceof ApiError ? error.issues : [] };
  } finally {
    if (comparison.signal === aborted) {
      isBusy.value = false;
      progress.value = null;
    }
  }
}
