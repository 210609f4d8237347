/**
 * The Stately inspection protocol (`@statelyai/inspect` 0.7.2), as we speak it: one JSON object a text frame, one way.
 * Written by hand, since the package's own inspector needs live actors and drops the ids of what is none. What an
 * actor's context shows is listed here, name by name: no prompt, no output and no path leaves by this door.
 */

import type { SnapshotFrom } from 'xstate';
import { type Decision, isDone, type taskMachine, type workerMachine } from '../../../machines/index.ts';

export type Actor = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly sessionId: string;
  readonly rootId: string;
  readonly parentId: string | undefined;
};
/** Snapshots are never changed, so one that is kept costs no copy. */
export type Captured =
  | { readonly entity: 'worker'; readonly snapshot: SnapshotFrom<typeof workerMachine> }
  | { readonly entity: 'task'; readonly snapshot: SnapshotFrom<typeof taskMachine> };
export type Told = { readonly type: string } & Readonly<Record<string, unknown>>;

const protocolVersion = '0.7.2';
const textLengthMax = 200;

const common = ({ sessionId, rootId }: Actor, atMs: number) => ({
  ...{ sessionId, rootId, createdAt: String(atMs), id: null, _version: protocolVersion },
});

/** `definition`: the machine's configuration, as JSON in a string. */
export const actorFrame = (actor: Actor, captured: Captured, definition: string, atMs: number): string =>
  JSON.stringify({
    ...{ type: '@xstate.actor', name: `${actor.entity} ${actor.id}`, ...common(actor, atMs) },
    ...{ parentId: actor.parentId, definition, snapshot: snapshotOf(captured) },
  });

export const eventFrame = (actor: Actor, event: Told, atMs: number): string =>
  JSON.stringify({ type: '@xstate.event', ...common(actor, atMs), event });

export const snapshotFrame = (actor: Actor, event: Told, captured: Captured, atMs: number): string =>
  JSON.stringify({ type: '@xstate.snapshot', ...common(actor, atMs), event, snapshot: snapshotOf(captured) });

/** The protocol has no word for guards, so a decision is told as an event with what each of them said. */
export const decisionEvent = ({ decision, action, cause, verdicts }: Decision): Told => ({
  ...{ type: 'stop.decided', decision, action, cause },
  guards: verdicts.map(({ guard, verdict, tookMs }) => ({ guard, verdict, tookMs })),
});

/** A machine's configuration as text; functions go by their names, as the package itself sends them. */
export const definitionOf = (machine: { readonly config: object }): string =>
  JSON.stringify({ ...machine.config, context: undefined }, (_key, value: unknown) =>
    typeof value === 'function' ? { type: value.name } : value,
  );

export const decisionIn = (captured: Captured): Decision | null =>
  captured.entity === 'worker' ? captured.snapshot.context.worker.lastDecision : null;

const snapshotOf = (captured: Captured) => ({
  ...{ status: 'active', value: captured.snapshot.value, context: contextOf(captured) },
  ...{ children: {}, historyValue: {}, tags: [] },
});

function contextOf({ entity, snapshot }: Captured): object {
  if (entity === 'task') {
    const { queue, worker, outcome, iteration, hooks } = snapshot.context;
    return {
      ...{ queue: cut(queue), worker, outcome, hooks: hooks.length },
      ...{ iteration: iteration?.iteration ?? null, maxIterations: iteration?.maxIterations ?? null },
    };
  }
  const { agent, queue, policy, parent, tasks, plan, lastDecision: last, ...it } = snapshot.context.worker;
  return {
    ...{ agent: cut(agent), queue: cut(queue), policy: cut(policy), parent, tasks: tasks.slice(0, 50) },
    ...{ retryCount: it.retryCount, keepAlives: it.keepAlives, planDone: plan.filter(isDone).length },
    ...{ planTotal: plan.length, toolCount: it.toolCount, awaitsInput: it.awaitsInput },
    lastDecision:
      last === null ? null : { decision: last.decision, action: last.action, cause: last.cause, at: last.at },
  };
}

const cut = (text: string | null): string | null => text?.slice(0, textLengthMax) ?? null;
