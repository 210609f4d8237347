/**
 * Hands on what XState apps send by `createWebSocketInspector` to whoever watches them: the page `/inspect`, or the
 * package's own receiver. It looks at no frame beyond what names its actor, stores nothing on disk, and must never delay
 * the fold: what all apps may send in a second is bounded.
 */
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { tryJson } from '../text/json-text.ts';

/** The smallest part that all frames of `@statelyai/inspect` have. */
const frameSchema = z.object({ type: z.string(), _version: z.string(), sessionId: z.string().min(1).max(1_024) });

/** A machine's definition travels in one frame; ours have 60 KiB. */
export const frameBytesMax = 256 * 1024;
/** For those who watch later, this many of the actors of a token's apps are kept: those that changed last. */
const actorsMax = 200;
const keptCharsMax = 8 * 1024 * 1024;
/** All apps together may send this much each second: parsing as much takes about 10 ms. */
const bytesPerSecond = 4 * 1024 * 1024;
/** Above this much unsent data a watcher is disconnected; when it comes back it gets the present state. */
const bufferedBytesMax = 4 * 1024 * 1024;

/** The frame that introduced an actor, and the last one with its snapshot. */
type Kept = { readonly introduced: string | null; readonly snapshot: string | null };
/** The apps and watchers of one token. `chars`: the length of all frames that are kept. */
type Room = { readonly sockets: Set<WebSocket>; readonly actors: Map<string, Kept>; chars: number };

export type InspectRelay = {
  /**
   * Joins an app or a watcher, which nothing tells apart: each gets what the others send, first what is so now.
   * @param caller the name of its token: tokens do not see each other's apps
   */
  join(socket: WebSocket, caller: string): void;
  close(): void;
};

export function createInspectRelay(): InspectRelay {
  const rooms = new Map<string, Room>();
  const paused = new Set<WebSocket>();
  let bytesLeft = bytesPerSecond;
  const refill = setInterval(() => {
    bytesLeft = bytesPerSecond;
    for (const socket of paused) socket.resume();
    paused.clear();
  }, 1_000).unref();

  return {
    join(socket, caller) {
      const room = rooms.get(caller) ?? { sockets: new Set(), actors: new Map(), chars: 0 };
      rooms.set(caller, room);
      for (const { introduced, snapshot } of room.actors.values())
        for (const frame of [introduced, snapshot]) if (frame !== null) socket.send(frame);
      room.sockets.add(socket);
      socket.on('message', (data, isBinary) => {
        const text = String(data);
        bytesLeft -= text.length;
        if (bytesLeft < 0) {
          socket.pause();
          paused.add(socket);
        }
        const frame = isBinary ? null : frameSchema.safeParse(tryJson(text));
        if (frame?.success !== true) {
          socket.close(1008, 'not a message of @statelyai/inspect: a JSON object with type, _version and sessionId');
          return;
        }
        keep(room, frame.data, text);
        handOn(room, socket, text);
      });
      socket.on('close', () => {
        room.sockets.delete(socket);
        paused.delete(socket);
      });
    },
    close: () => clearInterval(refill),
  };
}

function keep(room: Room, { type, sessionId }: z.output<typeof frameSchema>, text: string): void {
  const introduced = room.actors.get(sessionId)?.introduced ?? null;
  if (type === '@xstate.actor') put(room, sessionId, { introduced: text, snapshot: null });
  if (type === '@xstate.snapshot') put(room, sessionId, { introduced, snapshot: text });
}

function put(room: Room, sessionId: string, kept: Kept): void {
  forget(room, sessionId);
  room.actors.set(sessionId, kept);
  room.chars += lengthOf(kept);
  for (const oldest of room.actors.keys()) {
    if (room.actors.size <= actorsMax && room.chars <= keptCharsMax) return;
    forget(room, oldest);
  }
}

function forget(room: Room, sessionId: string): void {
  const kept = room.actors.get(sessionId);
  if (kept === undefined) return;
  room.actors.delete(sessionId);
  room.chars -= lengthOf(kept);
}

const lengthOf = ({ introduced, snapshot }: Kept): number => (introduced?.length ?? 0) + (snapshot?.length ?? 0);

function handOn({ sockets }: Room, sender: WebSocket, text: string): void {
  for (const socket of sockets) {
    if (socket === sender) continue;
    if (socket.bufferedAmount > bufferedBytesMax) socket.terminate();
    else socket.send(text);
  }
}
