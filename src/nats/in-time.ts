/** Waits with a time limit: a connection that is reconnecting answers nothing until it is back. */
import type { NatsConnection } from '@nats-io/nats-core';
import { AppError } from '../errors.ts';

const flushMs = 5_000;

/** Resolves when the server has handled all that was sent. @throws AppError service.unreachable */
export const flushInTime = (nc: NatsConnection): Promise<void> => inTime(nc.flush(), flushMs);

/** @throws AppError service.unreachable, and what `done` fails with */
export async function inTime<Result>(done: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('service.unreachable', `the NATS server did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
