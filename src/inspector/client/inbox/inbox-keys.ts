/**
 * The keys of the inbox. A number sends that answer at once, and `u` takes it back. Keys act on the card that was
 * visibly open or was chosen by a key since (open-item.ts). Keys pressed before the fleet is loaded are executed once
 * it is.
 */
import { computed, effect, untracked } from '@preact/signals';
import type { WorkerView } from '../../../../machines/index.ts';
import { get } from '../data/api.ts';
import { hello, liveFleet } from '../data/connection.ts';
import { isPast } from '../data/past.ts';
import { rankOf } from '../data/rows.ts';
import type { Shortcut } from '../keys.ts';
import { actionNews, type OperatorAction, requestAction } from '../operator/operator-actions.ts';
import { isOverBudget } from '../operator/operator-dialog.tsx';
import { trackActions } from '../operator/settle.ts';
import { suggestForMany } from '../operator/suggestions.ts';
import { navigate, route, selection } from '../route.ts';
import { plural } from '../ui/format.ts';
import {
  focusField,
  keyTarget,
  type Listed,
  sortList,
  startList,
  step,
  updateOpenItem,
  wantedField,
} from './open-item.ts';
import { startAnswers, undo, unsent } from './unsent.ts';
import {
  chosenItems,
  goneNote,
  type SnoozeLength,
  snooze,
  snoozeLengths,
  toggleMark,
  type Waiting,
  waiting,
  waitingKey,
} from './waiting.ts';

/** Maximum number of views to load for suggestions. More would delay the dialog. */
const viewsMax = 20;

async function requestForMany(action: OperatorAction, targets: readonly Waiting[]): Promise<void> {
  const workers = action === 'resume' ? targets.filter(({ entity }) => entity === 'worker').slice(0, viewsMax) : [];
  const views = await Promise.all(
    workers.map(({ id }) => get<WorkerView>(`get/worker/${encodeURIComponent(id)}`).catch(() => null)),
  );
  const suggestions = workers.length === 0 ? [] : suggestForMany(views.filter((view) => view !== null));
  requestAction({ action, targets, suggestions });
}

/** Maximum number of keys to keep until the fleet is loaded. */
const earlyMax = 16;
const early: (() => void)[] = [];
/** Whether the rows and the session are loaded. */
const isReady = computed(() => liveFleet.version.value > 0 && hello.value !== null);

export function startInbox(): void {
  startList();
  startAnswers();
  effect(() => {
    updateOpenItem();
    if (isReady.value) untracked(() => early.splice(0).map((run) => run()));
  });
}

/** Performs an action on the marked items, or on the current one. Used by keys and buttons. */
export function act(action: OperatorAction): void {
  const chosen = untracked(chosenItems);
  const current = placeNow();
  // Retiring a worker needs no answer to its question.
  const escalated = chosen.filter((item) => (action === 'retire' ? item.entity === 'worker' : !asks(item)));
  const asking = chosen.length - escalated.length;
  const isOpen = chosen.length === 1 && chosen[0] !== undefined && waitingKey(chosen[0]) === current?.key;
  if (asking > 0 && !isOpen) say(`${plural(asking, 'item needs', 'items need')} an answer: answer one at a time.`);
  if (escalated.length > 0) void requestForMany(action, escalated);
  else if (current?.isGone) say(`${current.id} is ${untracked(() => goneNote(current.key))}.`);
  else if (waiting.peek().length === 0) say('Nobody waits for you.');
  else if (current === undefined) say('Choose an item first, with j.');
  else if (asking > 0 && !isOpen) return;
  else if (asks(current)) goToAnswer();
  else if (action === 'resume' || action === 'stop') goToField(current, action === 'stop' ? stopButton : ownWords);
  else requestAction({ action, targets: [current] });
}

const ownWords = 'textarea, [type=submit]';
const stopButton = '[data-action=stop]';

/** Focuses a field of the answer form, which may have to be opened first. */
function goToField({ key }: Listed, field: string): void {
  const form = document.querySelector<HTMLElement>('aside .answer-box');
  if (form !== null) focusField(form, field);
  else {
    wantedField.value = { key, field };
    navigate({ tab: 'why' }, 'replace');
  }
  if (field === stopButton) say('Enter stops it, and u undoes that.');
}

const say = (text: string): void => {
  actionNews.value = { text, isProblem: false };
};
const placeNow = () => untracked(keyTarget);

/** Whether an agent waits for an answer without being escalated. */
function asks({ entity, id }: Waiting): boolean {
  const row = entity === 'worker' ? liveFleet.workers.get(id) : undefined;
  return row !== undefined && rankOf(row) === 'asks';
}

/** @param choice 1-based index of the answer to choose */
function goToAnswer(choice = 1): void {
  const request = document.querySelector('aside .escalation li:not([data-gone])');
  const ways = request?.querySelector('.choice') ? '.choice input' : '.buttons button';
  const chosen = request?.querySelectorAll<HTMLElement>(ways)[choice - 1];
  const field = chosen ?? request?.querySelector<HTMLElement>('input') ?? null;
  field?.focus();
  if (chosen instanceof HTMLInputElement && chosen.name.startsWith('choice-')) chosen.checked = true;
  say(
    field === null ? 'The agent asks in its own terminal: answer it there.' : 'Choose an answer with Tab, then Enter.',
  );
}

const grantField = '[name=grant]';
const grantForm = () => document.querySelector(`aside .answer-box ${grantField}`)?.closest('form') ?? null;

/** Goes to the amount of the worker that is shown, otherwise of the first in the inbox. */
function goToGrant(): void {
  const form = grantForm();
  const first = waiting.peek().find(isOverBudget);
  if (form !== null) focusField(form, grantField);
  else if (first !== undefined) {
    wantedField.value = { key: waitingKey(first), field: grantField };
    navigate({ view: 'inbox', tab: 'why', ...selection(first.entity, first.id) });
  }
}

function writeAnswer(): void {
  const current = placeNow();
  if (current === undefined) return;
  if (asks(current)) goToAnswer();
  else goToField(current, ownWords);
}

/**
 * Sends an answer that the open item shows. If it is not on screen yet, the answer is only chosen: nobody sends what
 * they have not seen.
 * @param choice 1-based
 */
function sendAnswer(choice: number): void {
  const current = placeNow();
  if (current === undefined) return;
  if (current.isGone) {
    say(`${current.id} is ${untracked(() => goneNote(current.key))}.`);
    return;
  }
  const answer = document.querySelector<HTMLElement>(
    `aside [data-answers="${CSS.escape(current.key)}"] [data-answer="${choice}"]`,
  );
  const form = answer?.closest('form');
  if (answer instanceof HTMLButtonElement) answer.click();
  else if (answer !== null && form != null) {
    answer.click();
    form.requestSubmit();
  } else if (asks(current)) goToAnswer(choice);
  else goToField(current, choice === 1 ? '[data-answer="1"]' : ownWords);
}

/** Snoozes an item; the next one is then opened. */
export function snoozeOne(item: Waiting, length: SnoozeLength): void {
  trackActions([item]);
  snooze(item, length);
  say(`${item.id} is snoozed ${snoozeLengths[length]}, in this browser.`);
}

function toggleOpenMark(): void {
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
    // Someone using the keys is not pointing at the list, so it may be sorted.
    untracked(sortList);
    if (isPast.peek()) say('The inbox shows the present only. Go back to live first.');
    else if (isReady.peek()) run();
    else if (early.length < earlyMax) early.push(run);
  },
});

export const inboxKeys: readonly Shortcut[] = [
  keyOf('j', 'Next', () => untracked(() => step(1)), true),
  keyOf('k', 'Previous', () => untracked(() => step(-1)), true),
  keyOf('x', 'Mark for a bulk action', toggleOpenMark),
  keyOf('a', 'Acknowledge', () => act('acknowledge')),
  keyOf('r', 'Go to the answer', () => act('resume')),
  keyOf('s', 'Go to “Let it stop”', () => act('stop')),
  keyOf('e', 'Answer in your own words', writeAnswer),
  ...[1, 2, 3].map((choice) => keyOf(String(choice), `Send answer ${choice}`, () => sendAnswer(choice))),
  keyOf('z', 'Snooze for an hour', () => {
    const current = placeNow();
    if (current !== undefined && !current.isGone) snoozeOne(current, 'hour');
  }),
  {
    key: 'g',
    title: 'Grant more to a worker over its budget',
    where: 'Inbox',
    when: () => !isPast.peek() && (grantForm() !== null || waiting.peek().some(isOverBudget)),
    run: goToGrant,
  },
  { key: 'u', title: 'Undo the last answer', where: 'Inbox', when: () => unsent.peek().length > 0, run: undo },
];
