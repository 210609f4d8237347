/** When a service that was started on demand ends after idle time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createIdleWatch } from '../../../src/app/process-end.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** With 40 s of idle time, checked every 10 s. */
function watch(isBusy = () => false) {
  const idle = createIdleWatch(40_000, 'stopgate.main.own.fleet.');
  let why: string | null = null;
  void idle.ended(isBusy).then((it) => {
    why = it;
  });
  return {
    idle,
    async after(seconds: number) {
      await vi.advanceTimersByTimeAsync(seconds * 1_000);
      return why;
    },
  };
}

test('it ends when nothing has arrived for that long', async () => {
  const { after } = watch();
  expect(await after(30)).toBeNull();
  expect(await after(10)).toBe('idle');
});

test.each(['decide', 'stopgate.main.worker.w1.tool.used'])('%s resets the idle time', async (subject) => {
  const { idle, after } = watch();
  await after(30);
  idle.noteEntry(subject);
  expect(await after(30)).toBeNull();
  expect(await after(10)).toBe('idle');
});

test("a replica's own heartbeats do not", async () => {
  const { idle, after } = watch();
  await after(30);
  idle.noteEntry('stopgate.main.own.fleet.main.replica.joined');
  expect(await after(10)).toBe('idle');
});

test('it does not end while an attempt is open', async () => {
  let open = 1;
  const { after } = watch(() => open > 0);
  expect(await after(600)).toBeNull();
  open = 0;
  expect(await after(30)).toBeNull();
  expect(await after(10)).toBe('idle');
});

test('it never ends without an idle time, or once it is closed', async () => {
  const never = vi.fn();
  void createIdleWatch(undefined, 'own.')
    .ended(() => false)
    .then(never);
  expect(vi.getTimerCount()).toBe(0);
  const { idle, after } = watch();
  idle.close();
  expect(await after(3_600)).toBeNull();
  expect(never).not.toHaveBeenCalled();
});
