/** The table of guards, in the order of the table in protocol.md §5. */
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

type GuardRow = {
  readonly guard: Guard;
  /** The states that the guard may lead to. The cause is that of a provided guard that decides in its place. */
  readonly leadsTo: Readonly<Partial<Record<StopOutcome, Cause>>>;
  /** Set if the guard may leave the attempt open, until an answer or a task arrives. */
  readonly mayWait?: true;
  /** The count that its blocks increase. */
  readonly blocksCount?: 'retryCount' | 'keepAlives';
};

/** One row per guard; a missing guard is a compile error. The transitions of `validating` are made from this table. */
export const guardRows: Readonly<Record<GuardName, GuardRow>> = {
  retired: { guard: retired, leadsTo: { stopped: 'retired' } },
  escalated: { guard: escalated, leadsTo: { escalated: 'escalated' } },
  bypass: { guard: bypass, leadsTo: { stopped: 'bypassed', escalated: 'budget', idle: 'unjudged' } },
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
