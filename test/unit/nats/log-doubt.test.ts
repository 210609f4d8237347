/** When a reported loss of a replicated log is believed. */
import type { StreamInfo } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { confirmLoss } from '../../../src/nats/log/confirm-loss.ts';

const whole = {} as StreamInfo;
const lost = new AppError('log.lost', 'the log STOPGATE_main ends at entry 7, and entry 9 was folded');
const silent = new AppError('log.unavailable', 'no answer');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const codeOf = async (asked: Promise<StreamInfo | AppError>) => {
  const found = await asked;
  return found instanceof AppError ? found.code : 'whole';
};

test('a single node is believed at once', async () => {
  expect(await codeOf(confirmLoss(async () => lost, 1)())).toBe('log.lost');
});

test('a cluster is believed after reporting the loss for 15 s', async () => {
  const ask = confirmLoss(async () => lost, 3);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(14_999);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(1);
  expect(await codeOf(ask())).toBe('log.lost');
});

test('after a longer pause between inspections, the 15 s start over', async () => {
  const ask = confirmLoss(async () => lost, 3);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(3_600_000);
  expect(await codeOf(ask())).toBe('log.unavailable');
  vi.advanceTimersByTime(15_000);
  expect(await codeOf(ask())).toBe('log.lost');
});

test('a complete log resets the 15 s, a missing reply does not', async () => {
  const answers = [lost, whole, lost, silent, lost];
  const ask = confirmLoss(async () => answers.shift() as AppError, 3);
  const seen: string[] = [];
  while (answers.length > 0) {
    seen.push(await codeOf(ask()));
    vi.advanceTimersByTime(8_000);
  }
  expect(seen).toEqual(['log.unavailable', 'whole', 'log.unavailable', 'log.unavailable', 'log.lost']);
});
