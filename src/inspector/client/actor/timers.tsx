/** The timers that run for a worker: when each ends, and what happens then. */
import type { WorkerView } from '../../../../machines/index.ts';
import { hello } from '../data/connection.ts';
import { isPast, shownFleet, shownMs } from '../data/past.ts';
import { w } from '../data/row-fields.ts';
import { duration } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';

type Timer = {
  readonly name: string;
  /** What happens at the end. */
  readonly outcome: string;
  readonly fromMs: number;
  /** Null: it has no end. */
  readonly untilMs: number | null;
};

export function Timers({ view }: { view: WorkerView }) {
  const timers = timersOf(view, hello.value?.staleAfterMs ?? 120_001);
  if (timers.length === 0) return null;
  return (
    <section aria-label="Timers">
      <h3>Timers {isPast.value && <span class="muted">at that time</span>}</h3>
      <ul class="timers">
        {timers.map((timer) => (
          <TimerLine key={timer.name} {...timer} />
        ))}
      </ul>
    </section>
  );
}

function TimerLine({ name, outcome, fromMs, untilMs }: Timer) {
  const now = shownMs.value;
  const leftMs = untilMs === null ? null : Math.max(0, untilMs - now);
  return (
    <li data-timer={name}>
      <span class="timer-name">
        <Text value={name} max={60} />
      </span>
      <span class="timer-left age">
        {leftMs === null ? `for ${duration(now - fromMs)}` : leftMs === 0 ? 'now' : `${duration(leftMs + 999)} left`}
      </span>
      {untilMs !== null && <Bar part={(now - fromMs) / Math.max(1, untilMs - fromMs)} />}
      <span class="muted">{outcome}</span>
    </li>
  );
}

const Bar = ({ part }: { part: number }) => (
  <span class="bar" aria-hidden="true">
    <i style={{ width: `${Math.min(1, Math.max(0, part)) * 100}%` }} />
  </span>
);

const timersOf = (view: WorkerView, staleAfterMs: number): Timer[] =>
  [attemptTimer(view), idleTimer(view), staleTimer(view, staleAfterMs)].filter((it) => it !== null);

function attemptTimer({ attempt }: WorkerView): Timer | null {
  if (attempt === null) return null;
  const { waitsFor, since, until } = attempt;
  const isHold = waitsFor === 'hold';
  return {
    name: isHold ? 'held stop' : waitsFor,
    outcome: isHold ? 'then the stop is decided without a new task' : 'then the check times out',
    fromMs: Date.parse(since),
    untilMs: until === null ? null : Date.parse(until),
  };
}

function idleTimer({ worker, tasks, state, idle }: WorkerView): Timer | null {
  if (tasks.length > 0 || state === 'stopped') return null;
  const fromMs = shownFleet.value.workers.get(worker)?.[w.idleSinceMs] ?? shownMs.value - idle.ms;
  return {
    name: 'idle',
    outcome: idle.limitMs === null ? 'no limit: persistence is off' : 'then a stop is allowed as idle-timeout',
    fromMs,
    untilMs: idle.limitMs === null ? null : fromMs + idle.limitMs,
  };
}

function staleTimer({ presence, state, lastSeen }: WorkerView, staleAfterMs: number): Timer | null {
  if (presence !== 'active' || state === 'stopped') return null;
  const fromMs = Date.parse(lastSeen);
  return { name: 'stale', outcome: 'then, without an entry, it is stale', fromMs, untilMs: fromMs + staleAfterMs };
}
