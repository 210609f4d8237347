/**
 * The fleet as actors, for XState inspectors: on every connection each actor with its definition and its current state,
 * then its steps, ten times a second. Such inspectors are made for a handful of actors, so a connection shows at most
 * fifty. For a client that does not read, only the latest step of each actor is kept.
 */
import { type Fleet, taskMachine, workerMachine } from '../../../machines/index.ts';
import { createGuarded, type Observe } from '../../host/fold/observers.ts';
import type { Logger } from '../../log.ts';
import {
  type Actor,
  actorFrame,
  type Captured,
  decisionEvent,
  decisionIn,
  definitionOf,
  eventFrame,
  snapshotFrame,
} from './frames.ts';

export type ActorRef = { readonly entity: Actor['entity']; readonly id: string };

const sessionIdOf = ({ entity, id }: ActorRef): string => `${entity}:${id}`;

/** Returns null if unknown. */
function capture(fleet: Fleet, { entity, id }: ActorRef): Captured | null {
  if (entity === 'worker') {
    const snapshot = fleet.workers.read(id)?.snapshot;
    return snapshot === undefined ? null : { entity, snapshot };
  }
  const snapshot = fleet.tasks.get(id)?.snapshot;
  return snapshot === undefined ? null : { entity, snapshot };
}

/** The worker that holds a task, or that a worker is a subagent of. */
const parentOf = (fleet: Fleet, { entity, id }: ActorRef): string | null =>
  (entity === 'worker'
    ? fleet.workers.read(id)?.snapshot.context.worker.parent
    : fleet.tasks.get(id)?.snapshot.context.worker) ?? null;

/** Tells whether an actor belongs to `worker`: the worker itself, its tasks and subagents. Null: all do. */
const belongsTo = (fleet: Fleet, worker: string | null, actor: ActorRef): boolean =>
  worker === null || (actor.entity === 'worker' && actor.id === worker) || parentOf(fleet, actor) === worker;

/** Workers first, the most recent at the front; then held tasks, then the newest. */
function actorsOf(fleet: Fleet, worker: string | null): ActorRef[] {
  const workers = [...fleet.workers]
    .sort(([, one], [, other]) => other.lastSeenMs - one.lastSeenMs)
    .map(([id]): ActorRef => ({ entity: 'worker', id }))
    .sort((one, other) => Number(other.id === worker) - Number(one.id === worker));
  const tasks = [...fleet.tasks.keys()].reverse().map((id): ActorRef => ({ entity: 'task', id }));
  const isHeld = (task: ActorRef) => parentOf(fleet, task) !== null;
  return [...workers, ...tasks.filter(isHeld), ...tasks.filter((task) => !isHeld(task))].filter((actor) =>
    belongsTo(fleet, worker, actor),
  );
}

/** `isReady` false: earlier frames are still buffered, so no more may be sent. */
type FeedClient = { send(frame: string): void; isReady(): boolean };

type Step = { readonly event: string; readonly captured: Captured; readonly atMs: number };
type ShownActor = { readonly actor: Actor; captured: Captured; steps: Step[]; isSent: boolean };
/** One inspector: the actors that it sees, and the steps that it has not received yet. */
type Connection = {
  readonly client: FeedClient;
  /** It is null for the whole fleet. */
  readonly worker: string | null;
  /** By session id, parents before their children. */
  readonly shown: Map<string, ShownActor>;
};

const actorsMax = 50;
/** Steps of one actor between two ticks; of more, the latest are sent. */
const stepsMax = 20;
const definitions = { worker: definitionOf(workerMachine), task: definitionOf(taskMachine) };

/** Shows an actor, its parents first. Without effect for one that is shown already, or when there are too many. */
function show(fleet: Fleet, connection: Connection, ref: ActorRef): void {
  for (const it of lineTo(fleet, connection, ref)) add(fleet, connection, it);
}

/**
 * The actor and its parents that are not shown yet, the topmost first. Agents choose their parents themselves: two may
 * name each other, and a line may have thousands, of which the nearest count.
 */
function lineTo(fleet: Fleet, { shown, worker }: Connection, ref: ActorRef): readonly ActorRef[] {
  const line = new Map<string, ActorRef>();
  for (let at: ActorRef | null = ref; at !== null && line.size < actorsMax - shown.size; ) {
    const sessionId = sessionIdOf(at);
    if (shown.has(sessionId) || line.has(sessionId)) break;
    line.set(sessionId, at);
    const parent = parentOf(fleet, at);
    const above: ActorRef | null = parent === null ? null : { entity: 'worker', id: parent };
    at = above !== null && belongsTo(fleet, worker, above) ? above : null;
  }
  return [...line.values()].reverse();
}

function add(fleet: Fleet, { shown }: Connection, ref: ActorRef): void {
  const captured = capture(fleet, ref);
  if (captured === null) return;
  const sessionId = sessionIdOf(ref);
  const parent = parentOf(fleet, ref);
  const above = parent === null ? undefined : shown.get(sessionIdOf({ entity: 'worker', id: parent }))?.actor;
  const actor = { ...ref, sessionId, rootId: above?.rootId ?? sessionId, parentId: above?.sessionId };
  shown.set(sessionId, { actor, captured, steps: [], isSent: false });
}

/** An actor took a step. */
function addStep(fleet: Fleet, connection: Connection, ref: ActorRef, step: Step): void {
  const shown = connection.shown.get(sessionIdOf(ref));
  if (shown === undefined) {
    if (belongsTo(fleet, connection.worker, ref)) show(fleet, connection, ref);
  } else {
    shown.steps.push(step);
    if (shown.steps.length > stepsMax) shown.steps.shift();
  }
}

function flush({ client, shown }: Connection, nowMs: number): void {
  for (const it of shown.values()) {
    // Checked for each actor, so that one round never fills a socket much beyond its limit.
    if (!client.isReady()) it.steps.splice(0, it.steps.length - 1);
    else if (it.isSent) sendSteps(client, it);
    else sendActor(client, it, nowMs);
  }
}

function sendActor(client: FeedClient, it: ShownActor, nowMs: number): void {
  it.captured = it.steps.at(-1)?.captured ?? it.captured;
  it.steps = [];
  it.isSent = true;
  client.send(actorFrame(it.actor, it.captured, definitions[it.actor.entity], nowMs));
}

function sendSteps(client: FeedClient, it: ShownActor): void {
  for (const { event: type, captured, atMs } of it.steps.splice(0)) {
    const decision = decisionIn(captured);
    client.send(eventFrame(it.actor, { type }, atMs));
    if (decision !== null && decision !== decisionIn(it.captured))
      client.send(eventFrame(it.actor, decisionEvent(decision), atMs));
    client.send(snapshotFrame(it.actor, { type }, captured, atMs));
    it.captured = captured;
  }
}

export type Feed = {
  /** `worker`: only this one, with its tasks and subagents. @returns how many actors are left out, and how to leave */
  join(client: FeedClient, worker: string | null): { readonly hidden: number; readonly leave: () => void };
  close(): void;
};

const tickMs = 100;

export function createFeed(fleet: Fleet, observe: Observe, logger: Logger): Feed {
  const guarded = createGuarded(logger, 'a message to the inspectors');
  const connections = new Set<Connection>();
  let stop: (() => void) | null = null;

  const onStep = (ref: ActorRef, event: string) => {
    const captured = capture(fleet, ref);
    if (captured === null) return;
    for (const it of connections) addStep(fleet, it, ref, { event, captured, atMs: fleet.nowMs });
  };
  const start = () => {
    if (stop !== null) return;
    const ignore = observe({
      worker: (id, _from, _to, event) => onStep({ entity: 'worker', id }, event),
      task: (id, _from, _to, event) => onStep({ entity: 'task', id }, event),
    });
    const timer = setInterval(() => {
      for (const it of connections) guarded(() => flush(it, fleet.nowMs));
    }, tickMs);
    stop = () => {
      ignore();
      clearInterval(timer);
      stop = null;
    };
  };

  return {
    join(client, worker) {
      start();
      const connection: Connection = { client, worker, shown: new Map() };
      const actors = actorsOf(fleet, worker);
      for (const ref of actors) show(fleet, connection, ref);
      connections.add(connection);
      flush(connection, fleet.nowMs);
      return {
        hidden: actors.length - connection.shown.size,
        leave() {
          connections.delete(connection);
          if (connections.size === 0) stop?.();
        },
      };
    },
    close: () => stop?.(),
  };
}
