/** The text of the lab and what it comes to: the last stops, decided again under it. The newest text counts. */
import { signal } from '@preact/signals';
import type { WhatIfAnswer } from '../../messages.ts';
import { ApiError, askPatiently, get, type Issue, type Progress } from '../data/api.ts';

const textKey = 'stopgate.policy';
export const attemptsMax = 10_000;
/** The time from the last letter to the question, in ms. */
const pauseMs = 500;

export type Problem = { readonly message: string; readonly issues: readonly Issue[] };

export const text = signal(sessionStorage.getItem(textKey) ?? '');
/** The policies in force; null: not known yet. */
export const inForce = signal<string | null>(null);
export const last = signal(200);
export const isBusy = signal(false);
export const progress = signal<Progress | null>(null);
export const answer = signal<WhatIfAnswer | null>(null);
export const problem = signal<Problem | null>(null);

let comparison = new AbortController();
let pause: ReturnType<typeof setTimeout> | undefined;

/** The lab's text has changed: it is compared once nothing more is typed. */
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

/** @param when the text becomes what is in force; what is typed before the reply came stays */
export async function loadInForce(when: 'always' | 'if empty'): Promise<void> {
  try {
    inForce.value = (await get<{ text: string }>('policy')).text;
    if (when === 'always' || text.peek() === '') change(inForce.value);
  } catch (error) {
    problem.value = { message: (error as Error).message, issues: [] };
  }
}

/** The policies in force, but with so many retries in each. */
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
