/**
 * After each file, verifies that everything it opened is closed. A handle that keeps the process alive (socket, server,
 * child process, watched file), a timer, a running command or a borrowed server fails the file.
 */
import { aroundAll } from 'vitest';
import { unclosed } from './unclosed.ts';

type Handle = { readonly constructor: { readonly name: string } };
const activeHandles = (): Handle[] => (process as unknown as { _getActiveHandles(): Handle[] })._getActiveHandles();
const countTimers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;

const before = new Set(activeHandles());
const timersBefore = countTimers();
const settleTimeoutMs = 20_000;

// Wraps everything, because fixtures of a file are closed after `afterAll`.
aroundAll(async (runFile) => {
  await runFile();
  // Handles closed last may need a few turns of the event loop to disappear.
  for (const untilMs = performance.now() + settleTimeoutMs; leaks().length > 0 && performance.now() < untilMs; )
    await new Promise((done) => setTimeout(done, 10).unref());
  const left = leaks();
  unclosed.clear();
  if (left.length > 0) throw new Error(`left open at the end of the file:\n${left.join('\n')}`);
});

function leaks(): string[] {
  const timers = countTimers() - timersBefore;
  return [
    ...activeHandles()
      .filter((handle) => !before.has(handle))
      .map(describe),
    ...(timers > 0 ? [`${timers} timers`] : []),
    ...unclosed,
  ];
}

function describe(handle: Handle): string {
  const { spawnargs, pid, remotePort, localPort } = handle as Record<string, unknown>;
  const known = { spawnargs, pid, remotePort, localPort };
  return `${handle.constructor.name} ${JSON.stringify(known)}`;
}
