/** What happens by itself, and when: the clocks that run for a worker. */
import type { WorkerView } from '../../../machines/index.ts';
import { hello } from './connection.ts';
import { isPast, shown, shownMs } from './past.ts';
import { w } from './rows.ts';
import { duration } from './terms.ts';
import { Text } from './text.tsx';

type Clock = {
  readonly name: string;
  /** What it leads to. */
  readonly next: string;
  readonly fromMs: number;
  readonly untilMs: number | null;
};

export function Clocks({ view }: { view: WorkerView }) {
  const clocks = clocksOf(view, hello.value?.staleAfterMs ?? 120_001);
  if (clocks.length === 0) return null;
  return (
    <section aria-label="Clocks">
      <h3>Clocks {isPast.value && <span class="muted">as they stood then</span>}</h3>
      <ul class="clocks">
        {clocks.map((clock) => (
          <ClockLine key={clock.name} {...clock} />
        ))}
      </ul>
    </section>
  );
}

function ClockLine({ name, next, fromMs, untilMs }: Clock) {
  const now = shownMs.value;
  const leftMs = untilMs === null ? null : Math.max(0, untilMs - now);
  const part = untilMs === null ? 0 : Math.min(1, Math.max(0, (now - fromMs) / Math.max(1, untilMs - fromMs)));
  return (
    <li data-clock={name}>
      <span class="clock-name">
        <Text value={name} max={60} />
      </span>
      <span class="clock-left">
        {leftMs === null ? `for ${duration(now - fromMs)}` : leftMs === 0 ? 'now' : `${duration(leftMs + 999)} left`}
      </span>
      <span class="bar" aria-hidden="true">
        <i style={{ width: `${part * 100}%` }} />
      </span>
      <span class="muted">{next}</span>
    </li>
  );
}

function clocksOf(view: WorkerView, staleMs: number): Clock[] {
  const now = shownMs.value;
  const clocks: Clock[] = [];
  if (view.attempt !== null) {
    const { waitsFor, since, until } = view.attempt;
    const isHold = waitsFor === 'hold';
    clocks.push({
      name: isHold ? 'held stop' : waitsFor,
      next: isHold ? 'then the stop is answered without a new task' : 'then it counts as timed out',
      fromMs: Date.parse(since),
      untilMs: until === null ? null : Date.parse(until),
    });
  }
  const { idle } = view;
  if (view.tasks.length === 0 && view.state !== 'stopped') {
    const fromMs = shown.value.workers.get(view.worker)?.[w.idleSinceMs] ?? now - idle.ms;
    clocks.push({
      name: 'idle',
      next: idle.limitMs === null ? 'no limit: persistence is off' : 'then a stop is let through as idle-timeout',
      fromMs,
      untilMs: idle.limitMs === null ? null : fromMs + idle.limitMs,
    });
  }
  if (view.presence === 'active' && view.state !== 'stopped') {
    const seenMs = Date.parse(view.lastSeen);
    clocks.push({
      name: 'stale',
      next: 'without a word it counts as stale',
      fromMs: seenMs,
      untilMs: seenMs + staleMs,
    });
  }
  return clocks;
}
