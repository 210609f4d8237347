/**
 * Replaces clock, timers and randomness of the process during a simulation. A run is synchronous, so nothing but its
 * own leftovers can see them. Dependencies that the service takes as arguments (connection, logger) are passed as
 * usual.
 */
import { nuid } from '@nats-io/nats-core';
import type { Random } from './random.ts';
import { epochMs, type Process, type Scheduler } from './scheduler.ts';

type Callback = (...args: unknown[]) => void;

/** @returns a function that restores the real ones */
export function replaceGlobals(scheduler: Scheduler, random: Random): () => void {
  const real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    setImmediate: globalThis.setImmediate,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
    clearImmediate: globalThis.clearImmediate,
    Date: globalThis.Date,
  };
  const chance = random.fork('globals');
  const nowMs = () => Math.floor(scheduler.nowMs + (scheduler.current?.clockOffsetMs ?? 0));
  Object.assign(globalThis, createTimers(scheduler, chance), { Date: createDate(nowMs) });
  const restoreRandom = replace(Math, 'random', () => chance.next());
  const restoreStopwatch = replace(performance, 'now', () => scheduler.nowMs - epochMs);
  const restoreBytes = replace(globalThis.crypto, 'getRandomValues', <Bytes extends Uint8Array>(bytes: Bytes) => {
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = chance.int(0, 255);
    return bytes;
  });
  const hex = (digits: number) => Array.from({ length: digits }, () => chance.int(0, 15).toString(16)).join('');
  const restoreIds = replace(globalThis.crypto, 'randomUUID', () => [8, 4, 4, 4, 12].map(hex).join('-'));
  nuid.reset();
  return () => {
    Object.assign(globalThis, real);
    restoreRandom();
    restoreStopwatch();
    restoreBytes();
    restoreIds();
  };
}

function replace<Target extends object>(target: Target, key: keyof Target, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(target, key);
  Object.defineProperty(target, key, { value, configurable: true, writable: true });
  return () => {
    if (own === undefined) delete target[key];
    else Object.defineProperty(target, key, own);
  };
}

function createDate(nowMs: () => number): DateConstructor {
  const RealDate = globalThis.Date;
  class VirtualDate extends RealDate {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [nowMs()] : given) as [number]));
    }
    static override now(): number {
      return nowMs();
    }
  }
  return VirtualDate as DateConstructor;
}

/** Timers are never early and often slightly late. */
const lateMsMax = 2;

function createTimers(scheduler: Scheduler, random: Random) {
  const createTimer = (delayMs: number | undefined, repeats: boolean, call: () => void) => {
    const owner: Process | null = scheduler.current;
    const everyMs = Math.max(1, Math.trunc(delayMs ?? 1) || 1);
    const schedule = () =>
      scheduler.after(owner, everyMs + random.next() * lateMsMax, () => {
        if (repeats) task = schedule();
        call();
      });
    let task = schedule();
    const timer = {
      ref: () => timer,
      unref: () => timer,
      hasRef: () => true,
      refresh() {
        task.cancel();
        task = schedule();
        return timer;
      },
      close: () => task.cancel(),
    };
    return timer;
  };
  const clear = (timer: { close?: () => void } | null | undefined) => timer?.close?.();
  return {
    setTimeout: (call: Callback, ms?: number, ...args: unknown[]) => createTimer(ms, false, () => call(...args)),
    setInterval: (call: Callback, ms?: number, ...args: unknown[]) => createTimer(ms, true, () => call(...args)),
    setImmediate(call: Callback, ...args: unknown[]) {
      const task = scheduler.after(scheduler.current, 0, () => call(...args));
      return { ref: () => {}, unref: () => {}, hasRef: () => true, close: () => task.cancel() };
    },
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
}
