/** Whether a replicated log is believed to be lost. */
import type { StreamInfo } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { confirmLoss } from '../../../src/nats/log/log-continuity.ts';

const whole = {} as StreamInfo;
const lost = new AppError('log.lost', 'the log STOPGATE_main ends at entry 7, and entry 9 was folded');
const silent = new AppError('log.unavailable', 'no answer');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const codeOf = async (asked: Promise<StreamInfo | AppError>) => {
  const found = await asked;
  return found instanceof AppError ? found.code : 'whole';
};

test('one node is believed at once', async () => {
  expect(await codeOf(confirmLoss(async () => lost, 1)())).toBe('log.lost');
});

test('of a cluster it is a loss when it has lasted for 15 s', async () => {
  const ask = confirmLoss(async () => lost, 3);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(14_999);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(1);
  expect(await codeOf(ask())).toBe('log.lost');
});

test('a doubt that nobody asked about for longer starts over', async () => {
  const ask = confirmLoss(async () => lost, 3);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(3_600_000);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(15_000);
  expect(await codeOf(ask())).toBe('log.lost');
});

test('an answer that has all ends the doubt, and silence does not', async () => {
  const answers = [lost, whole, lost, silent, lost];
  const ask = confirmLoss(async () => answers.shift() as AppError, 3);
  const seen: string[] = [];
  while (answers.length > 0) {
    seen.push(await codeOf(ask()));
    vi.advanceTimersByTime(8_000);
  }
  expect(seen).toEqual(['log.unavailable', 'whole', 'log.unavailable', 'log.unavailable', 'log.lost']);
});
