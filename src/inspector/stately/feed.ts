/**
 * The fleet as actors, for inspectors of XState: on every connection each actor with its definition and its state now,
 * then what moves, ten times a second. Such inspectors are made for a handful of actors, so a connection shows at most
 * fifty. For who does not read, only the newest step of each actor is kept.
 */
import { type Fleet, taskMachine, workerMachine } from '../../../machines/index.ts';
import type { Watch } from '../watch.ts';
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

/** `isReady` false: what was sent is still on its way, so nothing more may be. */
export type FeedClient = { send(frame: string): void; isReady(): boolean };
export type Feed = {
  /** `worker`: it alone, with its tasks and subagents. @returns how many actors are left out, and leave */
  join(client: FeedClient, worker: string | null): { readonly hidden: number; readonly leave: () => void };
  close(): void;
};

const actorsMax = 50;
const tickMs = 100;
/** Steps of one actor that are told between two ticks; of more, the last ones. */
const stepsMax = 20;

const definitions = { worker: definitionOf(workerMachine), task: definitionOf(taskMachine) };

type Entity = Actor['entity'];
type Step = { readonly event: string; readonly captured: Captured; readonly atMs: number };
type Shown = { readonly actor: Actor; captured: Captured; steps: Step[]; told: boolean };
type Connection = {
  readonly client: FeedClient;
  readonly worker: string | null;
  /** Parents before their children. */
  readonly shown: Map<string, Shown>;
};

export function createFeed(fleet: Fleet, watch: Watch): Feed {
  const connections = new Set<Connection>();
  let stop: (() => void) | null = null;

  const note = (entity: Entity, id: string, event: string) => {
    const captured = capture(fleet, entity, id);
    if (captured === null) return;
    const key = sessionOf(entity, id);
    for (const it of connections) {
      const shown = it.shown.get(key);
      if (shown === undefined) {
        if (isAbout(fleet, it.worker, entity, id)) show(fleet, it, entity, id);
      } else {
        shown.steps.push({ event, captured, atMs: fleet.nowMs });
        if (shown.steps.length > stepsMax) shown.steps.shift();
      }
    }
  };
  const start = () => {
    if (stop !== null) return;
    const unwatch = watch({
      worker: (id, _from, _to, event) => note('worker', id, event),
      task: (id, _from, _to, event) => note('task', id, event),
      queue: () => {},
    });
    const timer = setInterval(() => {
      for (const it of connections) flush(it, fleet.nowMs);
    }, tickMs);
    stop = () => {
      unwatch();
      clearInterval(timer);
      stop = null;
    };
  };

  return {
    join(client, worker) {
      start();
      const connection: Connection = { client, worker, shown: new Map() };
      const all = candidates(fleet, worker);
      for (const { entity, id } of all) show(fleet, connection, entity, id);
      connections.add(connection);
      flush(connection, fleet.nowMs);
      return {
        hidden: all.length - connection.shown.size,
        leave() {
          connections.delete(connection);
          if (connections.size === 0) stop?.();
        },
      };
    },
    close: () => stop?.(),
  };
}

const sessionOf = (entity: Entity, id: string): string => `${entity}:${id}`;

function capture(fleet: Fleet, entity: Entity, id: string): Captured | null {
  if (entity === 'worker') {
    const snapshot = fleet.workers.get(id)?.snapshot;
    return snapshot === undefined ? null : { entity, snapshot };
  }
  const snapshot = fleet.tasks.get(id)?.snapshot;
  return snapshot === undefined ? null : { entity, snapshot };
}

/** Who holds the task, or whose subagent the worker is. */
const parentOf = (fleet: Fleet, entity: Entity, id: string): string | null =>
  (entity === 'worker'
    ? fleet.workers.get(id)?.snapshot.context.worker.parent
    : fleet.tasks.get(id)?.snapshot.context.worker) ?? null;

function isAbout(fleet: Fleet, worker: string | null, entity: Entity, id: string): boolean {
  if (worker === null || (entity === 'worker' && id === worker)) return true;
  return parentOf(fleet, entity, id) === worker;
}

/** Workers first, those heard of last at the front; then tasks that are held, then the newest. */
function candidates(fleet: Fleet, worker: string | null): { entity: Entity; id: string }[] {
  const workers = [...fleet.workers].sort(([, one], [, other]) => other.lastSeenMs - one.lastSeenMs);
  const tasks = [...fleet.tasks.keys()].reverse();
  const held = (task: string) => parentOf(fleet, 'task', task) !== null;
  return [
    ...workers
      .map(([id]) => ({ entity: 'worker' as const, id }))
      .sort((one, other) => Number(other.id === worker) - Number(one.id === worker)),
    ...[...tasks.filter(held), ...tasks.filter((task) => !held(task))].map((id) => ({ entity: 'task' as const, id })),
  ].filter(({ entity, id }) => isAbout(fleet, worker, entity, id));
}

/** An actor's parent is shown before it, if at all. */
function show(fleet: Fleet, connection: Connection, entity: Entity, id: string, seen: readonly string[] = []): void {
  const sessionId = sessionOf(entity, id);
  const captured = capture(fleet, entity, id);
  const { shown } = connection;
  // Agents name their parents themselves, so that two may name each other.
  if (captured === null || shown.has(sessionId) || shown.size >= actorsMax || seen.includes(sessionId)) return;
  const parent = parentOf(fleet, entity, id);
  if (parent !== null && isAbout(fleet, connection.worker, 'worker', parent))
    show(fleet, connection, 'worker', parent, [...seen, sessionId]);
  if (shown.size >= actorsMax) return;
  const above = parent === null ? undefined : shown.get(sessionOf('worker', parent))?.actor;
  const actor = { entity, id, sessionId, rootId: above?.rootId ?? sessionId, parentId: above?.sessionId };
  shown.set(sessionId, { actor, captured, steps: [], told: false });
}

function flush({ client, shown }: Connection, nowMs: number): void {
  for (const it of shown.values()) {
    // Asked for each, so that one round never fills a socket much further than it was.
    if (!client.isReady()) it.steps.splice(0, it.steps.length - 1);
    else if (it.told) tellSteps(client, it);
    else tellActor(client, it, nowMs);
  }
}

function tellActor(client: FeedClient, it: Shown, nowMs: number): void {
  it.captured = it.steps.at(-1)?.captured ?? it.captured;
  it.steps = [];
  it.told = true;
  client.send(actorFrame(it.actor, it.captured, definitions[it.actor.entity], nowMs));
}

function tellSteps(client: FeedClient, it: Shown): void {
  for (const { event, captured, atMs } of it.steps.splice(0)) {
    const decision = decisionIn(captured);
    const told = { type: event };
    client.send(eventFrame(it.actor, told, atMs));
    if (decision !== null && decision !== decisionIn(it.captured))
      client.send(eventFrame(it.actor, decisionEvent(decision), atMs));
    client.send(snapshotFrame(it.actor, told, captured, atMs));
    it.captured = captured;
  }
}
