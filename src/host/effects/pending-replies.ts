/**
 * Pending replies: the reasons of checks that have no result yet, and when they are asked again. Only views show them,
 * so they are not stored in the log. The replica that asks a check shares its reply on a subject that no stream
 * captures.
 */

import { z } from 'zod';
import { type Fleet, idSchema, readJson } from '../../../machines/index.ts';
import type { Bus } from '../../nats/bus.ts';
import { setNewest } from '../../set-newest.ts';

const replySchema = z.object({
  worker: idSchema,
  attempt: z.string(),
  check: z.string(),
  /** Null if the reply has none. */
  reason: z.string().max(1_000).nullable(),
  /** By the log's clock, in milliseconds since 1970. */
  askedAgainMs: z.number(),
});
export type PendingReply = z.infer<typeof replySchema>;

export type PendingReplies = {
  /** Keeps the reply of a check that this replica called, and shares it with the other replicas. */
  note(reply: PendingReply): void;
  /** Returns null unless the worker waits for a check that has replied `pending`. */
  of(worker: string): PendingReply | null;
  /** Starts to receive the replies of the other replicas' checks. */
  open(): void;
  close(): void;
};

/**
 * Whether the worker waits for that check. Another replica may have folded more than we have, so we keep replies early.
 */
function isAwaited(fleet: Fleet, { worker, attempt, check }: PendingReply): boolean {
  const open = fleet.workers.get(worker)?.snapshot.context.worker.attempt;
  return open?.attempt === attempt && open.pending?.name === check;
}

/** The limit is that of the open requests of a replica. An evicted reply is shown without its reason. */
const repliesMax = 10_000;

/** @param onChange called with each worker that has a new reply */
export function createPendingReplies(
  fleet: Fleet,
  replica: string,
  bus: Pick<Bus, 'publish' | 'subscribe'>,
  onChange: (worker: string) => void,
): PendingReplies {
  const replies = new Map<string, PendingReply>();
  let listening: { close(): void } | null = null;
  const keep = (reply: PendingReply) => {
    setNewest(replies, reply.worker, reply, repliesMax);
    onChange(reply.worker);
  };
  const subject = `stopgate.${fleet.name}.pending`;
  return {
    note(reply) {
      // The check of a probe belongs to no attempt.
      if (!isAwaited(fleet, reply)) return;
      keep(reply);
      bus.publish(`${subject}.${replica}`, JSON.stringify(reply));
    },
    of(worker) {
      const reply = replies.get(worker);
      if (reply === undefined) return null;
      return isAwaited(fleet, reply) ? reply : null;
    },
    open() {
      listening = bus.subscribe(`${subject}.*`, (sender, text) => {
        if (sender === `${subject}.${replica}`) return;
        const read = readJson(text);
        const { data } = replySchema.safeParse(read.ok ? read.value : null);
        if (data !== undefined) keep(data);
      });
    },
    close() {
      listening?.close();
      listening = null;
    },
  };
}
