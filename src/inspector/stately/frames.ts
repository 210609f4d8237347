/**
 * Frames of the Stately inspection protocol (`@statelyai/inspect` 0.7.2): one JSON object per text frame, sent only to
 * the client. Written by hand, because the package's inspector needs live actors and loses foreign ids. Context fields
 * are listed explicitly, so that no prompt, output or path is ever sent.
 */
import { type Decision, isDone, type TaskRecord, type WorkerRecord } from '../../../machines/index.ts';

export type Actor = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly sessionId: string;
  readonly rootId: string;
  readonly parentId: string | undefined;
};
/** Snapshots are immutable, so keeping one needs no copy. */
export type Captured =
  | { readonly entity: 'worker'; readonly snapshot: WorkerRecord['snapshot'] }
  | { readonly entity: 'task'; readonly snapshot: TaskRecord['snapshot'] };
type InspectedEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

const protocolVersion = '0.7.2';
const textLengthMax = 200;

const common = ({ sessionId, rootId }: Actor, atMs: number) => ({
  sessionId,
  rootId,
  createdAt: String(atMs),
  id: null,
  _version: protocolVersion,
});

/** `definition` is the machine's configuration as JSON. */
export const actorFrame = (actor: Actor, captured: Captured, definition: string, atMs: number): string =>
  JSON.stringify({
    type: '@xstate.actor',
    name: `${actor.entity} ${actor.id}`,
    ...common(actor, atMs),
    parentId: actor.parentId,
    definition,
    snapshot: snapshotOf(captured),
  });

export const eventFrame = (actor: Actor, event: InspectedEvent, atMs: number): string =>
  JSON.stringify({ type: '@xstate.event', ...common(actor, atMs), event });

export const snapshotFrame = (actor: Actor, event: InspectedEvent, captured: Captured, atMs: number): string =>
  JSON.stringify({ type: '@xstate.snapshot', ...common(actor, atMs), event, snapshot: snapshotOf(captured) });

/** The protocol has no guards, so a decision is sent as an event with the verdict of each guard. */
export const decisionEvent = ({ decision, action, cause, verdicts }: Decision): InspectedEvent => ({
  type: 'stop.decided',
  decision,
  action,
  cause,
  guards: verdicts.map(({ guard, verdict, tookMs }) => ({ guard, verdict, tookMs })),
});

/** Serializes a machine's configuration. Functions become `{ type: name }`, as in the package. */
export const definitionOf = (machine: { readonly config: object }): string =>
  JSON.stringify({ ...machine.config, context: undefined }, (_key, value: unknown) =>
    typeof value === 'function' ? { type: value.name } : value,
  );

export const decisionIn = (captured: Captured): Decision | null =>
  captured.entity === 'worker' ? captured.snapshot.context.worker.lastDecision : null;

const snapshotOf = (captured: Captured) => ({
  status: 'active',
  value: captured.snapshot.value,
  context: contextOf(captured),
  children: {},
  historyValue: {},
  tags: [],
});

function contextOf({ entity, snapshot }: Captured): object {
  if (entity === 'task') {
    const { queue, worker, outcome, iteration, hooks } = snapshot.context;
    return {
      queue: cut(queue),
      worker,
      outcome,
      hooks: hooks.length,
      iteration: iteration?.iteration ?? null,
      maxIterations: iteration?.maxIterations ?? null,
    };
  }
  const { agent, queue, policy, parent, tasks, plan, lastDecision: last, ...context } = snapshot.context.worker;
  return {
    agent: cut(agent),
    queue: cut(queue),
    policy: cut(policy),
    parent,
    tasks: tasks.slice(0, 50),
    retryCount: context.retryCount,
    keepAlives: context.keepAlives,
    planDone: plan.filter(isDone).length,
    planTotal: plan.length,
    toolCount: context.toolCount,
    awaitsInput: context.awaitsInput,
    lastDecision:
      last === null ? null : { decision: last.decision, action: last.action, cause: last.cause, at: last.at },
  };
}

const cut = (text: string | null): string | null => text?.slice(0, textLengthMax) ?? null;
