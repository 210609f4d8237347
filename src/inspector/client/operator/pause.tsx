/** A person's pause of a worker: the note while it is paused, the choice of its length, and its shortcuts. */
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

/** Returns the pause while it is in effect. A timed pause ends without an entry, and so without a new view. */
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

/** The end in the reader's time zone, with a countdown. The page's clock may lag slightly behind the entry's. */
function Until({ sinceMs, untilMs }: { sinceMs: number; untilMs: number }) {
  const now = Math.max(sinceMs, shownMs.value);
  return (
    <>
      until {date(untilMs) === date(now) ? time(untilMs) : localTime(untilMs)}{' '}
      <span class="age strong">({duration(Math.max(0, untilMs - now) + 999)} left)</span>
    </>
  );
}

/** The choice of a pause's length. Typing a duration selects its choice. */
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
          placeholder="45m, 3h, at most 7d"
          onInput={() => {
            if (typed.current !== null) typed.current.checked = true;
          }}
        />
      </p>
    </fieldset>
  );
}

/** The selected worker if an operator may pause it here, otherwise null. */
function shownWorker(): WorkerView | null {
  if (route.peek().worker === null || isPast.peek() || !mayOperate()) return null;
  const view = shownView.peek();
  return view != null && 'worker' in view && 'presence' in view ? view : null;
}

const isPausedNow = ({ paused }: WorkerView): boolean =>
  paused !== null && (paused.until === null || nowMs.peek() < Date.parse(paused.until));

/** A retired worker, or one whose session has ended, has no stops to pause. */
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

/** One key pauses the selected worker, and ends its pause. */
export const pauseKeys: readonly Shortcut[] = [
  pauseKey('Pause this worker', 'pause', isPausable),
  pauseKey('Resume judging this worker (unpause)', 'unpause', isPausedNow),
];
