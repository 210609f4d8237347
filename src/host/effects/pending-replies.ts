/**
 * Pending replies: what remote checks reply that have no result yet, and when they are asked again. It is only shown,
 * so the log has nothing of it: the replica that asks tells the others, on a subject that no stream captures.
 */

import { z } from 'zod';
import { type Fleet, idSchema, readJson } from '../../../machines/index.ts';
import type { Bus } from '../../nats/bus.ts';
import { setNewest } from '../../newest.ts';

const replySchema = z.object({
  worker: idSchema,
  attempt: z.string(),
  check: z.string(),
  /** It is null if it gave none. */
  reason: z.string().max(1_000).nullable(),
  /** By the log's clock, in milliseconds since 1970. */
  askedAgainMs: z.number(),
});
export type PendingReply = z.infer<typeof replySchema>;

export type PendingReplies = {
  /** Keeps what a check of this replica replied, and tells the others. */
  note(reply: PendingReply): void;
  /** Returns null if the worker waits for no check, or for one that was not answered yet. */
  of(worker: string): PendingReply | null;
  /** Hears what the other replicas are told. */
  open(): void;
  close(): void;
};

/** Another replica may have folded less than the one that asks, so what is not awaited is kept, and not shown. */
function isAwaited(fleet: Fleet, { worker, attempt, check }: PendingReply): boolean {
  const open = fleet.workers.get(worker)?.snapshot.context.worker.attempt;
  return open?.attempt === attempt && open.pending?.name === check;
}

/** As many as the requests that a replica holds open; an older one is then shown without its reason. */
const repliesMax = 10_000;

/** @param onChange called with each worker about which something new is known */
export function createPendingReplies(
  fleet: Fleet,
  replica: string,
  bus: Pick<Bus, 'tell' | 'listen'>,
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
      // A probe's is nobody's attempt.
      if (!isAwaited(fleet, reply)) return;
      keep(reply);
      bus.tell(`${subject}.${replica}`, JSON.stringify(reply));
    },
    of(worker) {
      const reply = replies.get(worker);
      if (reply === undefined) return null;
      return isAwaited(fleet, reply) ? reply : null;
    },
    open() {
      listening = bus.listen(`${subject}.*`, (at, text) => {
        if (at === `${subject}.${replica}`) return;
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
