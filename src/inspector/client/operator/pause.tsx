/** A person's pause of a worker: the line that says that it holds, and the choice of how long it is to hold. */
import { computed } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { WorkerView } from '../../../../machines/index.ts';
import { nowMs } from '../data/connection.ts';
import { isPast, shownMs, shownView } from '../data/past.ts';
import type { Shortcut } from '../keys.ts';
import { route } from '../route.ts';
import { date, duration, localTime, time } from '../ui/format.ts';
import { Ago, Text } from '../ui/text.tsx';
import { mayOperate, requestAction } from './operator-actions.ts';
import { pauseLengths, typedLength } from './pause-length.ts';

type Pause = NonNullable<WorkerView['paused']>;

/** Returns the pause while it holds. One with a time ends without an entry, so no new view comes then. */
export function usePause(paused: WorkerView['paused']): Pause | null {
  const until = paused?.until ?? null;
  const isOver = useMemo(() => computed(() => until !== null && Date.parse(until) <= shownMs.value), [until]);
  return isOver.value ? null : paused;
}

export const PauseNote = ({ pause: { by, since, until } }: { pause: Pause }) => (
  <p class="pause-note">
    <b>Paused</b> by <Text value={by} max={120} /> <Ago thenMs={Date.parse(since)} />,{' '}
    {until === null ? 'until its session ends' : <Until sinceMs={Date.parse(since)} untilMs={Date.parse(until)} />}. Its
    stops are allowed and not judged.
  </p>
);

/** The end in the reader's time zone, with a countdown. The page's clock may be a little behind the entry's. */
function Until({ sinceMs, untilMs }: { sinceMs: number; untilMs: number }) {
  const now = Math.max(sinceMs, shownMs.value);
  return (
    <>
      until {date(untilMs) === date(now) ? time(untilMs) : localTime(untilMs)}{' '}
      <span class="age strong">({duration(Math.max(0, untilMs - now) + 999)} left)</span>
    </>
  );
}

/** How long the pause is to hold: a choice, or a time that is typed. Typing takes the choice that it belongs to. */
export function PauseChoice() {
  const typed = useRef<HTMLInputElement>(null);
  return (
    <fieldset class="pause-choice">
      <legend>For how long</legend>
      {pauseLengths.map(({ value, text }, index) => (
        <label key={value}>
          <input type="radio" name="length" value={value} defaultChecked={index === 0} /> {text}
        </label>
      ))}
      <p class="row">
        <label>
          <input ref={typed} type="radio" name="length" value={typedLength} /> Another time
        </label>
        <input
          name="typed"
          maxLength={20}
          autoComplete="off"
          aria-label="Another time, 7 days at most"
          placeholder="45m, 3h, 7d at most"
          onInput={() => {
            if (typed.current !== null) typed.current.checked = true;
          }}
        />
      </p>
    </fieldset>
  );
}

/** The view of the worker that is shown, if an operator may pause it here; null: there is none. */
function shownWorker(): WorkerView | null {
  if (route.peek().worker === null || isPast.peek() || !mayOperate()) return null;
  const view = shownView.peek();
  return view != null && 'worker' in view && 'presence' in view ? view : null;
}

const isPausedNow = ({ paused }: WorkerView): boolean =>
  paused !== null && (paused.until === null || nowMs.peek() < Date.parse(paused.until));

/** A worker whose session has ended, or that was retired, has no stops to be paused. */
const isPausable = (view: WorkerView): boolean => view.ended === null && !isPausedNow(view);

const pauseKey = (title: string, action: 'pause' | 'unpause', fits: (view: WorkerView) => boolean): Shortcut => ({
  key: 'P',
  title,
  where: 'Panel',
  when: () => {
    const view = shownWorker();
    return view !== null && fits(view);
  },
  run: () => {
    const view = shownWorker();
    if (view !== null) requestAction({ action, targets: [{ entity: 'worker', id: view.worker }] });
  },
});

/** One key pauses the worker that is shown, and ends its pause. */
export const pauseKeys: readonly Shortcut[] = [
  pauseKey('Pause this worker', 'pause', isPausable),
  pauseKey('Resume judging this worker (unpause)', 'unpause', isPausedNow),
];
