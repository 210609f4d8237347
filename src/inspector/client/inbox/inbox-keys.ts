/**
 * The keys of the inbox. They act on what is true when a key is pressed, for the page may not have been drawn since the
 * last one; and what is pressed before the fleet is known is done as soon as it is.
 */
import { computed, effect, untracked } from '@preact/signals';
import { hello, liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import type { Shortcut } from '../keys.ts';
import { rankOf } from '../lists/urgency.ts';
import { actionNews, type OperatorAction, requestAction } from '../operator/operator-actions.ts';
import { navigate, route, selection } from '../route.ts';
import { plural } from '../ui/format.ts';
import { toggleMark } from './card.tsx';
import { chosenItems, requestForMany } from './many.ts';
import { keepPlace, placeIn } from './place.ts';
import { type Waiting, waiting, waitingKey } from './waiting.ts';

/** Who presses more than these has stopped waiting for them. */
const earlyMax = 16;
const early: (() => void)[] = [];
/** The rows and the session are known. */
const isReady = computed(() => liveFleet.version.value > 0 && hello.value !== null);

export function startInbox(): void {
  effect(() => {
    keepPlace();
    if (isReady.value) untracked(() => early.splice(0).map((run) => run()));
  });
}

/** Buttons do the same as keys. */
export function act(action: OperatorAction): void {
  const items = waiting.peek();
  const chosen = untracked(chosenItems);
  const current = items[placeNow()];
  const escalated = chosen.filter((it) => !asks(it));
  const asking = chosen.length - escalated.length;
  const isOpen = chosen.length === 1 && chosen[0] === current;
  if (asking > 0 && !isOpen) say(`${plural(asking, 'asks', 'ask')} for an answer: answer one at a time.`);
  if (escalated.length > 0) void requestForMany(action, escalated);
  else if (items.length === 0) say('Nobody waits for you.');
  else if (current === undefined) say('Choose one first, with j.');
  else if (asking > 0 && !isOpen) return;
  else if (asks(current)) goToAnswer();
  else requestAction({ action, targets: [current] });
}

const say = (text: string): void => {
  actionNews.value = { text, isProblem: false };
};
const placeNow = (): number => untracked(() => placeIn(waiting.peek()));

/** It is not escalated: an agent waits for an answer. */
function asks({ entity, id }: Waiting): boolean {
  const row = entity === 'worker' ? liveFleet.workers.get(id) : undefined;
  return row !== undefined && rankOf(row) === 'asks';
}

function goToAnswer(): void {
  const field = document.querySelector<HTMLElement>('aside .escalation :is(input, button)');
  field?.focus();
  say(
    field === null ? 'It asks where the agent runs: answer it there.' : 'It asks for an answer: Tab to one, and Enter.',
  );
}

function go(step: number): void {
  const items = waiting.peek();
  const next = items[Math.max(0, Math.min(items.length - 1, placeNow() + step))];
  if (next !== undefined) navigate(selection(next.entity, next.id), 'replace');
}

function mark(): void {
  const target = waiting.peek()[placeNow()];
  if (target !== undefined) toggleMark(waitingKey(target));
}

const keyOf = (key: string, title: string, run: () => void): Shortcut => ({
  ...{ key, title, where: 'Inbox', when: () => route.peek().view === 'inbox' },
  run() {
    if (isPast.peek()) say('The inbox is about now. Go back to live first.');
    else if (isReady.peek()) run();
    else if (early.length < earlyMax) early.push(run);
  },
});

export const inboxKeys: readonly Shortcut[] = [
  keyOf('j', 'Next', () => go(1)),
  keyOf('k', 'Previous', () => go(-1)),
  keyOf('x', 'Mark, to act on many', mark),
  keyOf('a', 'Acknowledge', () => act('acknowledge')),
  keyOf('r', 'Resume with words', () => act('resume')),
  keyOf('s', 'Stop', () => act('stop')),
];
