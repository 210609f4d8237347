/** The guards of a stop, in the protocol's order: read them beside the table of protocol.md §5. */
import type { Cause } from '../values/states.ts';
import { bypass } from './bypass.ts';
import { checks } from './checks.ts';
import { type GuardName, guardNames } from './decision.ts';
import { done } from './done.ts';
import { escalated } from './escalated.ts';
import type { Guard } from './guard.ts';
import { hooks } from './hooks.ts';
import { idle } from './idle.ts';
import { limited } from './limited.ts';
import type { StopOutcome } from './outcome.ts';
import { pending } from './pending.ts';
import { promise } from './promise.ts';
import { retired } from './retired.ts';
import { retries } from './retries.ts';
import { stuck } from './stuck.ts';
import { waiting } from './waiting.ts';

export type GuardRow = {
  readonly guard: Guard;
  /** The states that it may lead to, each with the cause of a decision by a guard that is provided in its place. */
  readonly leadsTo: Readonly<Partial<Record<StopOutcome, Cause>>>;
  /** It may leave the attempt open: for an answer, or until a task arrives. */
  readonly mayWait?: true;
  /** The count of the worker that its blocks increase. */
  readonly blocksCount?: 'retryCount' | 'keepAlives';
};

/** One row for each name: a guard that is missing does not compile. The chart of `validating` is made from them. */
export const guardRows: Readonly<Record<GuardName, GuardRow>> = {
  retired: { guard: retired, leadsTo: { stopped: 'retired' } },
  escalated: { guard: escalated, leadsTo: { escalated: 'escalated' } },
  bypass: { guard: bypass, leadsTo: { stopped: 'bypassed', escalated: 'budget' } },
  limited: { guard: limited, leadsTo: { idle: 'limited' } },
  waiting: {
    guard: waiting,
    leadsTo: { idle: 'waiting', blocked: 'waiting', stopped: 'capped' },
    blocksCount: 'keepAlives',
  },
  promise: { guard: promise, leadsTo: { escalated: 'escalated' } },
  checks: {
    guard: checks,
    leadsTo: { blocked: 'incomplete', escalated: 'escalated' },
    mayWait: true,
    blocksCount: 'retryCount',
  },
  hooks: {
    guard: hooks,
    leadsTo: { blocked: 'incomplete', escalated: 'escalated' },
    mayWait: true,
    blocksCount: 'retryCount',
  },
  retries: { guard: retries, leadsTo: { stopped: 'capped', escalated: 'capped' } },
  stuck: { guard: stuck, leadsTo: { escalated: 'stuck' } },
  pending: {
    guard: pending,
    leadsTo: { blocked: 'pending-tasks', stopped: 'capped' },
    blocksCount: 'keepAlives',
  },
  idle: {
    guard: idle,
    leadsTo: { blocked: 'idle', stopped: 'idle-timeout' },
    mayWait: true,
    blocksCount: 'keepAlives',
  },
  done: { guard: done, leadsTo: { idle: 'unjudged', stopped: 'complete' } },
};

export const guards = Object.fromEntries(guardNames.map((name) => [name, guardRows[name].guard])) as Readonly<
  Record<GuardName, Guard>
>;
