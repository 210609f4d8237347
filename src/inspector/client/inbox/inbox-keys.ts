/**
 * The keys of the inbox. They act on the card that was on screen as the open one, or was chosen by a key since, whatever
 * has come meanwhile (place.ts). What is pressed before the fleet is known is done as soon as it is.
 */
import { computed, effect, untracked } from '@preact/signals';
import type { WorkerView } from '../../../../machines/index.ts';
import { get } from '../data/api.ts';
import { hello, liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { rankOf } from '../data/rows.ts';
import type { Shortcut } from '../keys.ts';
import { actionNews, type OperatorAction, requestAction } from '../operator/operator-actions.ts';
import { noteOurs } from '../operator/settle.ts';
import { suggestForMany } from '../operator/suggestions.ts';
import { navigate, route } from '../route.ts';
import { plural } from '../ui/format.ts';
import { keepPlace, type Listed, placeOfKeys, sortList, startList, step, takeField, wantedField } from './place.ts';
import { startAnswers, undo, unsent } from './unsent.ts';
import {
  chosenItems,
  type SnoozeLength,
  snooze,
  snoozeLengths,
  toggleMark,
  type Waiting,
  waiting,
  waitingKey,
} from './waiting.ts';

/** Suggestions are made from at most so many views; loading more would delay the question. */
const viewsMax = 20;

async function requestForMany(action: OperatorAction, targets: readonly Waiting[]): Promise<void> {
  const workers = action === 'resume' ? targets.filter(({ entity }) => entity === 'worker').slice(0, viewsMax) : [];
  const views = await Promise.all(
    workers.map(({ id }) => get<WorkerView>(`get/worker/${encodeURIComponent(id)}`).catch(() => null)),
  );
  const suggestions = workers.length === 0 ? [] : suggestForMany(views.filter((view) => view !== null));
  requestAction({ action, targets, suggestions });
}

/** So many early keys are kept; whoever presses more has stopped waiting for them. */
const earlyMax = 16;
const early: (() => void)[] = [];
/** The rows and the session are known. */
const isReady = computed(() => liveFleet.version.value > 0 && hello.value !== null);

export function startInbox(): void {
  startList();
  startAnswers();
  effect(() => {
    keepPlace();
    if (isReady.value) untracked(() => early.splice(0).map((run) => run()));
  });
}

/** Buttons do the same as keys. */
export function act(action: OperatorAction): void {
  const chosen = untracked(chosenItems);
  const current = placeNow();
  // Whoever is retired needs no answer any more.
  const escalated = chosen.filter((item) => (action === 'retire' ? item.entity === 'worker' : !asks(item)));
  const asking = chosen.length - escalated.length;
  const isOpen = chosen.length === 1 && chosen[0] !== undefined && waitingKey(chosen[0]) === current?.key;
  if (asking > 0 && !isOpen) say(`${plural(asking, 'asks', 'ask')} for an answer: answer one at a time.`);
  if (escalated.length > 0) void requestForMany(action, escalated);
  else if (current?.isGone) say(`${current.id} waits for nobody any more.`);
  else if (waiting.peek().length === 0) say('Nobody waits for you.');
  else if (current === undefined) say('Choose one first, with j.');
  else if (asking > 0 && !isOpen) return;
  else if (asks(current)) goToAnswer();
  else if (action === 'resume' || action === 'stop') goToField(current, action === 'stop' ? stopButton : ownWords);
  else requestAction({ action, targets: [current] });
}

const ownWords = 'textarea, [type=submit]';
const stopButton = '[data-action=stop]';

/** The answer stands beside the question, in a section of the panel that may not be there yet. */
function goToField({ key }: Listed, field: string): void {
  const form = document.querySelector<HTMLElement>('aside .answer-box');
  if (form !== null) takeField(form, field);
  else {
    wantedField.value = { key, field };
    navigate({ tab: 'why' }, 'replace');
  }
  if (field === stopButton) say('Enter stops it, and u takes that back.');
}

const say = (text: string): void => {
  actionNews.value = { text, isProblem: false };
};
const placeNow = () => untracked(placeOfKeys);

/** Tells whether an agent waits for an answer, without being escalated. */
function asks({ entity, id }: Waiting): boolean {
  const row = entity === 'worker' ? liveFleet.workers.get(id) : undefined;
  return row !== undefined && rankOf(row) === 'asks';
}

/** @param choice which of its answers to take, from 1 */
function goToAnswer(choice = 1): void {
  const request = document.querySelector('aside .escalation li:not([data-gone])');
  const ways = request?.querySelector('.choice') ? '.choice input' : '.buttons button';
  const chosen = request?.querySelectorAll<HTMLElement>(ways)[choice - 1];
  const field = chosen ?? request?.querySelector<HTMLElement>('input') ?? null;
  field?.focus();
  if (chosen instanceof HTMLInputElement && chosen.name.startsWith('choice-')) chosen.checked = true;
  say(
    field === null ? 'It asks where the agent runs: answer it there.' : 'It asks for an answer: Tab to one, and Enter.',
  );
}

/** @param choice which of the suggestions to take, from 1 */
function focusAnswer(choice?: number): void {
  const current = placeNow();
  if (current === undefined) return;
  if (asks(current)) goToAnswer(choice);
  else goToField(current, choice === undefined ? ownWords : `.choice:nth-of-type(${choice}) input`);
}

/** The next one is opened: this one is out of sight. */
export function snoozeOne(item: Waiting, length: SnoozeLength): void {
  noteOurs([item]);
  snooze(item, length);
  say(`${item.id} is snoozed ${snoozeLengths[length]}, in this browser.`);
}

function mark(): void {
  const target = placeNow();
  if (target !== undefined && !target.isGone) toggleMark(target.key);
}

const keyOf = (key: string, title: string, run: () => void, repeats = false): Shortcut => ({
  key,
  title,
  where: 'Inbox',
  repeats,
  when: () => route.peek().view === 'inbox',
  run() {
    // The hand is at the keys, not at the mouse.
    untracked(sortList);
    if (isPast.peek()) say('The inbox is about now. Go back to live first.');
    else if (isReady.peek()) run();
    else if (early.length < earlyMax) early.push(run);
  },
});

export const inboxKeys: readonly Shortcut[] = [
  keyOf('j', 'Next', () => untracked(() => step(1)), true),
  keyOf('k', 'Previous', () => untracked(() => step(-1)), true),
  keyOf('x', 'Mark, to act on many', mark),
  keyOf('a', 'Acknowledge', () => act('acknowledge')),
  keyOf('r', 'Go to the answer', () => act('resume')),
  keyOf('s', 'Go to “Let it stop”', () => act('stop')),
  keyOf('e', 'Answer in your own words', () => focusAnswer()),
  ...[1, 2, 3].map((choice) =>
    keyOf(String(choice), `Take answer ${choice}; Enter sends it`, () => focusAnswer(choice)),
  ),
  keyOf('z', 'Snooze for an hour', () => {
    const current = placeNow();
    if (current !== undefined && !current.isGone) snoozeOne(current, 'hour');
  }),
  { key: 'u', title: 'Undo the last answer', where: 'Inbox', when: () => unsent.peek().length > 0, run: undo },
];
