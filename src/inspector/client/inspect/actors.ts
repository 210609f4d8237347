/**
 * Keeps what was received about each actor. There is a bound for each, so that a busy actor displaces nothing of the
 * others.
 */
import { readStates, type StateNode } from '../../chart/foreign-chart.ts';

// The receiving side of `createBrowserInspector({ url })`: an XState app opens this page, or frames it, and posts
// what its actors do. Only messages of that window are accepted, and only from the origin of the first one. A page that no
// app opened shows the apps that send to this service by `createWebSocketInspector({ url })`.

/** As `@statelyai/inspect` 0.7.2 sends them; other versions may lack any of the optional fields. */
type Frame = {
  readonly type: string;
  readonly _version: string;
  readonly sessionId: string;
  readonly createdAt?: unknown;
  readonly parentId?: unknown;
  readonly sourceId?: unknown;
  readonly name?: unknown;
  readonly definition?: unknown;
  readonly snapshot?: unknown;
  readonly event?: unknown;
};

/** @param onFrame gets each frame with its origin. @returns false: no app opened this page */
export function receive(here: Window, onFrame: (frame: Frame, origin: string) => void): boolean {
  const app: Window | null = here.self === here.top ? here.opener : here.parent;
  if (app === null) return false;
  let accepted: string | null = null;
  here.addEventListener('message', ({ source, origin, data }: MessageEvent) => {
    if (source !== app || (accepted !== null && origin !== accepted) || !isFrame(data)) return;
    accepted = origin;
    onFrame(data, origin);
  });
  // Any origin may get this, since it reveals only that somebody listens; we cannot know which origin opened us.
  app.postMessage({ type: '@statelyai.connected' }, '*');
  return true;
}

/** @param onFrame gets each frame; onChange hears whether the service is connected, at once and whenever it changes */
export function receiveFromService(onFrame: (frame: Frame) => void, onChange: (isConnected: boolean) => void): void {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/inspect`);
  socket.onopen = () => onChange(true);
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    const frame: unknown = JSON.parse(data);
    if (isFrame(frame)) onFrame(frame);
  };
  socket.onclose = () => {
    onChange(false);
    setTimeout(() => receiveFromService(onFrame, onChange), reconnectMs);
  };
}

const reconnectMs = 2_000;

function isFrame(data: unknown): data is Frame {
  if (typeof data !== 'object' || data === null) return false;
  const { type, _version, sessionId } = data as Record<string, unknown>;
  return typeof type === 'string' && typeof _version === 'string' && typeof sessionId === 'string';
}

export type ReceivedEvent = {
  readonly number: number;
  readonly atMs: number;
  readonly type: string;
  readonly from: string | null;
  readonly event: unknown;
  /** The snapshots that it led from and to; null: not received. */
  readonly before: Snapshot;
  after: Snapshot;
};
type Snapshot = Readonly<Record<string, unknown>> | null;
export type Actor = {
  readonly id: string;
  name: string;
  parent: string | null;
  /** It is null for what is not a state machine, or cannot be read as one. */
  states: StateNode | null;
  snapshot: Snapshot;
  /** Newest last. */
  readonly events: ReceivedEvent[];
  /** The number of events that were received in total. */
  eventCount: number;
};
export type Actors = Map<string, Actor>;

const actorsMax = 500;
/** As many as are shown; each holds two snapshots. */
const eventsMax = 100;
const nameLengthMax = 200;

export function applyFrame(actors: Actors, frame: Frame): void {
  const actor = actors.get(frame.sessionId) ?? add(actors, frame.sessionId);
  if (frame.type === '@xstate.actor') {
    if (typeof frame.name === 'string') actor.name = frame.name.slice(0, nameLengthMax);
    actor.parent = typeof frame.parentId === 'string' ? frame.parentId : null;
    actor.states = typeof frame.definition === 'string' ? readStates(frame.definition) : null;
  }
  if (frame.type === '@xstate.event') addEvent(actor, frame);
  if (typeof frame.snapshot !== 'object' || frame.snapshot === null) return;
  actor.snapshot = frame.snapshot as Snapshot;
  // An app posts an event, then what became of it.
  const last = actor.events.at(-1);
  if (frame.type === '@xstate.snapshot' && last !== undefined && typeOf(frame.event) === last.type)
    last.after ??= actor.snapshot;
}

function add(actors: Actors, id: string): Actor {
  if (actors.size >= actorsMax) {
    const ended = [...actors.values()].find(({ snapshot }) => snapshot !== null && snapshot.status !== 'active');
    actors.delete(ended?.id ?? (actors.keys().next().value as string));
  }
  const actor: Actor = {
    id,
    name: id.slice(0, nameLengthMax),
    parent: null,
    states: null,
    snapshot: null,
    events: [],
    eventCount: 0,
  };
  actors.set(id, actor);
  return actor;
}

function addEvent(actor: Actor, { event, sourceId, createdAt }: Frame): void {
  actor.eventCount += 1;
  const atMs = Number(createdAt);
  actor.events.push({
    number: actor.eventCount,
    atMs: Number.isFinite(atMs) && atMs > 0 ? atMs : Date.now(),
    type: typeOf(event),
    from: typeof sourceId === 'string' ? sourceId : null,
    event,
    before: actor.snapshot,
    after: null,
  });
  if (actor.events.length > eventsMax) actor.events.shift();
}

function typeOf(event: unknown): string {
  const { type } = (typeof event === 'object' && event !== null ? event : {}) as { type?: unknown };
  return String(type ?? 'unknown').slice(0, nameLengthMax);
}

/** Parents before their children, each with its depth. An actor with an unknown parent is at the top level. */
export function inOrder(actors: Actors): { actor: Actor; depth: number }[] {
  const children = new Map<string | null, Actor[]>();
  for (const actor of actors.values()) {
    const parent = actor.parent !== null && actors.has(actor.parent) ? actor.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), actor]);
  }
  const below = (parent: string | null, depth: number): { actor: Actor; depth: number }[] =>
    (children.get(parent) ?? []).flatMap((actor) => [{ actor, depth }, ...below(actor.id, depth + 1)]);
  const ordered = below(null, 0);
  // Actors that are each other's ancestors have no top level.
  const rest = [...actors.values()].filter((actor) => !ordered.some((it) => it.actor === actor));
  return [...ordered, ...rest.map((actor) => ({ actor, depth: 0 }))];
}
