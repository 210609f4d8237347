/**
 * The fleet as actors for XState inspectors. A connection first gets each actor with its definition and state, then its
 * steps ten times a second. Inspectors are made for few actors, so a connection shows at most fifty. For a stalled
 * client only the latest step of each actor is kept.
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

/** Returns null for an unknown actor. */
function capture(fleet: Fleet, { entity, id }: ActorRef): Captured | null {
  if (entity === 'worker') {
    const snapshot = fleet.workers.read(id)?.snapshot;
    return snapshot === undefined ? null : { entity, snapshot };
  }
  const snapshot = fleet.tasks.get(id)?.snapshot;
  return snapshot === undefined ? null : { entity, snapshot };
}

/** The worker that holds a task, or the parent of a subagent. */
const parentOf = (fleet: Fleet, { entity, id }: ActorRef): string | null =>
  (entity === 'worker'
    ? fleet.workers.read(id)?.snapshot.context.worker.parent
    : fleet.tasks.get(id)?.snapshot.context.worker) ?? null;

/** Whether an actor is `worker`, one of its tasks or one of its subagents. Always true if `worker` is null. */
const belongsTo = (fleet: Fleet, worker: string | null, actor: ActorRef): boolean =>
  worker === null || (actor.entity === 'worker' && actor.id === worker) || parentOf(fleet, actor) === worker;

/** Orders workers first, the most recently seen at the front; then held tasks, then other tasks, the newest first. */
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

/** `isReady` returns false while earlier frames are still buffered; nothing may be sent then. */
type FeedClient = { send(frame: string): void; isReady(): boolean };

type Step = { readonly event: string; readonly captured: Captured; readonly atMs: number };
type ShownActor = { readonly actor: Actor; captured: Captured; steps: Step[]; isSent: boolean };
/** One inspector, the actors it sees, and the steps it has not received yet. */
type Connection = {
  readonly client: FeedClient;
  /** Null for the whole fleet. */
  readonly worker: string | null;
  /** By session id, parents before their children. */
  readonly shown: Map<string, ShownActor>;
};

const actorsMax = 50;
/** Maximum number of steps of one actor per tick. The latest are sent. */
const stepsMax = 20;
const definitions = { worker: definitionOf(workerMachine), task: definitionOf(taskMachine) };

/** Adds an actor and its parents to a connection. Does nothing if it is already shown or the connection is full. */
function show(fleet: Fleet, connection: Connection, ref: ActorRef): void {
  for (const actor of unshownLineTo(fleet, connection, ref)) add(fleet, connection, actor);
}

/**
 * Returns the actor and its parents that are not shown yet, topmost first. Agents name their own parents, so this
 * guards against cycles and limits long chains to the nearest parents.
 */
function unshownLineTo(fleet: Fleet, { shown, worker }: Connection, ref: ActorRef): readonly ActorRef[] {
  const line = new Map<string, ActorRef>();
  for (let current: ActorRef | null = ref; current !== null && line.size < actorsMax - shown.size; ) {
    const sessionId = sessionIdOf(current);
    if (shown.has(sessionId) || line.has(sessionId)) break;
    line.set(sessionId, current);
    const parent = parentOf(fleet, current);
    const above: ActorRef | null = parent === null ? null : { entity: 'worker', id: parent };
    current = above !== null && belongsTo(fleet, worker, above) ? above : null;
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

/** Records a step of an actor. */
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
  for (const actor of shown.values()) {
    // Check before each actor, so that one tick never exceeds a socket's limit by much.
    if (!client.isReady()) actor.steps.splice(0, actor.steps.length - 1);
    else if (actor.isSent) sendSteps(client, actor);
    else sendActor(client, actor, nowMs);
  }
}

function sendActor(client: FeedClient, entry: ShownActor, nowMs: number): void {
  entry.captured = entry.steps.at(-1)?.captured ?? entry.captured;
  entry.steps = [];
  entry.isSent = true;
  client.send(actorFrame(entry.actor, entry.captured, definitions[entry.actor.entity], nowMs));
}

function sendSteps(client: FeedClient, entry: ShownActor): void {
  for (const { event: type, captured, atMs } of entry.steps.splice(0)) {
    const decision = decisionIn(captured);
    client.send(eventFrame(entry.actor, { type }, atMs));
    if (decision !== null && decision !== decisionIn(entry.captured))
      client.send(eventFrame(entry.actor, decisionEvent(decision), atMs));
    client.send(snapshotFrame(entry.actor, { type }, captured, atMs));
    entry.captured = captured;
  }
}

export type Feed = {
  /**
   * @param worker shows only this worker with its tasks and subagents; null shows the whole fleet
   * @returns the number of actors left out, and a function to leave
   */
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
    for (const connection of connections) addStep(fleet, connection, ref, { event, captured, atMs: fleet.nowMs });
  };
  const start = () => {
    if (stop !== null) return;
    const ignore = observe({
      worker: (id, _from, _to, event) => onStep({ entity: 'worker', id }, event),
      task: (id, _from, _to, event) => onStep({ entity: 'task', id }, event),
    });
    const timer = setInterval(() => {
      for (const connection of connections) guarded(() => flush(connection, fleet.nowMs));
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
