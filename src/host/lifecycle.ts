/** The lifecycle of a host: it folds the history, reaches the log's head, and leaves; or it loses its log. */
import { AppError } from '../errors.ts';
import { type HostContext, lossOf } from './context.ts';
import type { FoldLoop, FoldRooms } from './fold-loop.ts';
import type { FoldNote } from './fold-note.ts';
import type { Membership } from './membership.ts';
import { catchUp } from './read-barrier.ts';
import type { Retention } from './retention.ts';
import { upgradeRules } from './rules-upgrade.ts';
import type { Takeover } from './takeover.ts';

export type Rooms = FoldRooms & {
  readonly foldNote: FoldNote;
  readonly membership: Membership;
  readonly retention: Retention;
  readonly takeover: Takeover;
};

export type Lifecycle = {
  /** Folds the history and continues what it left open. */
  start(): Promise<void>;
  close(): Promise<void>;
};

export function createLifecycle(context: HostContext, rooms: Rooms, loop: FoldLoop): Lifecycle {
  const { log, lost } = context;
  let reader: { close(): void } | null = null;
  lost.signal.addEventListener('abort', () => {
    reader?.close();
    onLost(context, rooms);
  });
  return {
    async start() {
      reader = log.read({
        ...{ folded: context.progress.position, onMessage: loop.receive },
        onLost: (error) => lost.abort(error),
      });
      await catchUp(context);
      lost.signal.throwIfAborted();
      await rooms.membership.join();
      // The join itself comes back from the log, and everything before it is folded then.
      await catchUp(context);
      await reachHead(context, rooms);
    },
    async close() {
      if (context.phase !== 'lost') context.phase = 'closing';
      stopEffects(rooms);
      const isLost = context.phase === 'lost';
      await Promise.all([isLost ? null : rooms.membership.leave(), rooms.foldNote.close()]);
      if (!isLost) await rooms.snapshots.close();
      reader?.close();
      failCallers(context, new AppError('log.unavailable', 'this replica is stopping; try again'));
    },
  };
}

async function reachHead(context: HostContext, rooms: Rooms): Promise<void> {
  context.phase = 'head';
  rooms.outbox.open();
  rooms.deadLetters.open();
  for (const worker of context.fleet.open) rooms.checks.start(worker);
  rooms.evaluations.open();
  await rooms.policies.open();
  await catchUp(context);
  upgradeRules(context);
  rooms.timers.arm();
  rooms.membership.open();
  rooms.foldNote.open();
  rooms.takeover.open();
  rooms.notices.open();
  rooms.snapshots.open();
  rooms.retention.open();
}

/** Nothing of this fold may get into another log. */
function onLost(context: HostContext, rooms: Rooms): void {
  const error = lossOf(context) as AppError;
  if (error.code === 'log.lost') context.logger.error({ err: error }, 'the log is lost');
  if (error.code === 'rules.unknown') context.logger.error({ err: error }, 'the log needs a later release');
  context.phase = 'lost';
  stopEffects(rooms);
  rooms.membership.close();
  failCallers(context, error);
  context.progress.release();
}

function stopEffects({ timers, checks, evaluations, notices, takeover, retention }: Rooms): void {
  for (const room of [timers, checks, evaluations, notices, takeover, retention]) room.close();
}

function failCallers({ decisionWaiters, evaluationWaiters }: HostContext, error: AppError): void {
  decisionWaiters.failAll(error);
  evaluationWaiters.failAll(error);
}
