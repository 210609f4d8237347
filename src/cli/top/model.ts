/** The state of `stopgate top`, and how each key changes it. */
import type { WorkerView } from '../../../machines/index.ts';
import { type Urgency, urgencies, urgencyOf } from '../../../machines/replay/urgency.ts';
import { readQuestions } from '../../../machines/values/questions.ts';

export type Mode =
  | { readonly kind: 'list' }
  | { readonly kind: 'help' }
  /** The user is typing a prompt for a worker that is to be resumed. */
  | { readonly kind: 'prompt'; readonly worker: string; readonly text: string }
  | { readonly kind: 'stop' | 'answer'; readonly worker: string };

export type Model = {
  readonly workers: readonly WorkerView[];
  /** There are more workers than shown. */
  readonly isCut: boolean;
  readonly selected: string | null;
  readonly mode: Mode;
  /** The result of the last action, or null. */
  readonly news: string | null;
  /** When `workers` were read, by this machine's clock. */
  readonly readMs: number;
  /** Why `workers` are outdated, or null. */
  readonly fault: string | null;
};

export type Reading = Pick<Model, 'workers' | 'isCut' | 'readMs'>;
export type Key = { readonly name: string; readonly ctrl: boolean; readonly text: string };
export type Action = {
  readonly worker: string;
  readonly type: 'escalation.acknowledged' | 'escalation.resolved' | 'input.answered';
  readonly data: Readonly<Record<string, string>>;
};
export type Step = { readonly model: Model; readonly action?: Action; readonly ends?: true };

export const emptyModel: Model = {
  workers: [],
  isCut: false,
  selected: null,
  mode: { kind: 'list' },
  news: null,
  readMs: 0,
  fault: null,
};

/** Maximum length of a prompt. Enough for a hint to an agent. */
const promptCharsMax = 1_000;

/** Workers that wait for a person come first, longest wait first, followed by those that may soon. */
export const rankOf = ({ state, presence, escalation, inputs, tasks, lastDecision }: WorkerView): Urgency =>
  urgencyOf({
    state,
    presence,
    isAcknowledged: escalation !== null && escalation.acknowledgedBy !== null,
    asks: inputs.length > 0,
    holdsTask: tasks.length > 0,
    cause: lastDecision?.cause ?? null,
  });

const sinceOf = ({ escalation, lastTransition, lastSeen }: WorkerView): string =>
  escalation?.since ?? lastTransition?.at ?? lastSeen;

function byUrgency(a: WorkerView, b: WorkerView): number {
  const rank = urgencies.indexOf(rankOf(a)) - urgencies.indexOf(rankOf(b));
  if (rank !== 0) return rank;
  const time = sinceOf(a) < sinceOf(b) ? -1 : 1;
  return rankOf(a) === 'idle' || rankOf(a) === 'stopped' ? -time : time;
}

/** Keeps the selected worker selected wherever it moves. */
export function withWorkers(model: Model, { workers, isCut, readMs }: Reading): Model {
  const sorted = workers.toSorted(byUrgency);
  const stays = sorted.some(({ worker }) => worker === model.selected);
  return {
    ...model,
    workers: sorted,
    isCut,
    readMs,
    fault: null,
    selected: stays ? model.selected : (sorted[0]?.worker ?? null),
  };
}

export const selectedOf = ({ workers, selected }: Model): WorkerView | undefined =>
  workers.find(({ worker }) => worker === selected);

export function pressKey(model: Model, key: Key): Step {
  if (key.ctrl && key.name === 'c') return { model, ends: true };
  const { mode } = model;
  if (mode.kind === 'prompt') return typePrompt(model, mode, key);
  if (mode.kind === 'list') return pressInList({ ...model, news: null }, key);
  const list: Model = { ...model, mode: { kind: 'list' } };
  if (mode.kind === 'help') return { model: list };
  const action = mode.kind === 'stop' ? confirmStop(mode.worker, key) : answer(model, mode.worker, key);
  return action === null ? { model: { ...list, news: 'nothing was changed' } } : { model: list, action };
}

function pressInList(model: Model, { name, text }: Key): Step {
  const view = selectedOf(model);
  const open = (mode: Mode): Step => ({ model: { ...model, mode } });
  const escalated = (step: (view: WorkerView) => Step): Step => {
    if (view?.state === 'escalated') return step(view);
    return { model: { ...model, news: `${view?.worker ?? 'no worker'} is not escalated` } };
  };
  switch (text === '?' || text === 'G' ? text : name) {
    case 'q':
      return { model, ends: true };
    case 'j':
    case 'down':
      return { model: move(model, 1) };
    case 'k':
    case 'up':
      return { model: move(model, -1) };
    case 'g':
    case 'home':
      return { model: move(model, -model.workers.length) };
    case 'G':
    case 'end':
      return { model: move(model, model.workers.length) };
    case '?':
      return open({ kind: 'help' });
    case 'a':
      return escalated(({ worker }) => ({ model, action: { worker, type: 'escalation.acknowledged', data: {} } }));
    case 'r':
      return escalated(({ worker }) => open({ kind: 'prompt', worker, text: '' }));
    case 's':
      return escalated(({ worker }) => open({ kind: 'stop', worker }));
    case 'p': {
      const held = view === undefined ? undefined : heldIn(view);
      if (view === undefined || held === undefined)
        return { model: { ...model, news: `${view?.worker ?? 'no worker'} has no request that can be answered here` } };
      if (readQuestions(held.detail) === null) return open({ kind: 'answer', worker: view.worker });
      return { model: { ...model, news: `answer with: stopgate answer ${view.worker} --allow --message "…"` } };
    }
    default:
      return { model };
  }
}

function move(model: Model, by: number): Model {
  const { workers, selected } = model;
  const index = workers.findIndex(({ worker }) => worker === selected) + by;
  return { ...model, selected: workers[Math.max(0, Math.min(workers.length - 1, index))]?.worker ?? null };
}

function typePrompt(model: Model, mode: Extract<Mode, { kind: 'prompt' }>, { name, text, ctrl }: Key): Step {
  const list: Model = { ...model, mode: { kind: 'list' } };
  const edit = (next: string): Step => ({
    model: { ...model, mode: { ...mode, text: next.slice(0, promptCharsMax) } },
  });
  if (name === 'escape') return { model: { ...list, news: 'nothing was changed' } };
  if (name === 'backspace') return edit([...mode.text].slice(0, -1).join(''));
  if (name !== 'return' && name !== 'enter')
    return ctrl ? { model } : edit(mode.text + text.replaceAll(/\p{Cc}/gu, ''));
  const prompt = mode.text.trim();
  const data = { verdict: 'resume', ...(prompt === '' ? {} : { prompt }) };
  return { model: list, action: { worker: mode.worker, type: 'escalation.resolved', data } };
}

const confirmStop = (worker: string, { name }: Key): Action | null =>
  name === 'y' ? { worker, type: 'escalation.resolved', data: { verdict: 'stop' } } : null;

function answer(model: Model, worker: string, { name }: Key): Action | null {
  const view = model.workers.find((each) => each.worker === worker);
  const request = view === undefined ? null : heldIn(view)?.request;
  const verdict = { a: 'allow', d: 'deny' }[name];
  if (request == null || verdict === undefined) return null;
  return { worker, type: 'input.answered', data: { request, verdict } };
}

/** A request may be reported by one hook and held by another. Only a held one, with a request id, can be answered. */
const heldIn = ({ inputs }: WorkerView) => inputs.find(({ request }) => request !== null);
