/**
 * One worker's connection to the service. Entries are stored one at a time and in order, before any later question.
 * While the service is unreachable they are buffered.
 */
import { randomUUID } from 'node:crypto';
import type { AttemptFields, Decision, WorkerView } from '../../machines/index.ts';
import type { AnswerableDecision } from '../agents/shared/block-text.ts';
import type { EntryDraft } from '../agents/shared/entry-drafts.ts';
import {
  describeCommand,
  describeStatus,
  type PersonCommand,
  personAtSession,
} from '../agents/shared/person-command.ts';
import type { Client, EntryFields, EntryType } from '../client/index.ts';
import { AppError, errorCodes } from '../errors.ts';
import { throwIfRefused } from '../service/refusal.ts';
import { startTimer, type Timer, within } from '../timer.ts';

/** The part of a decision that a turn needs. */
export type Judgement = AnswerableDecision & Pick<Decision, 'retry'>;

export type WorkerLink = {
  readonly worker: string;
  record(draft: EntryDraft): void;
  /** @throws AppError if the stop could not be judged */
  decide(attempt: AttemptFields): Promise<Judgement>;
  /** Resolves to the worker's view, which reflects all entries recorded before. @throws AppError */
  view(): Promise<WorkerView>;
  /** Runs a person's command and resolves to the reply. @throws AppError */
  obey(command: PersonCommand): Promise<string>;
  /** Stores the remaining entries, with a short timeout. */
  close(): Promise<void>;
};

export type ServiceLink = {
  /** Connects if necessary, and reconnects if the service has moved. @throws AppError */
  client(): Promise<Client>;
  /** Reports a failed call: the service is looked up again before the next one. */
  doubt(): void;
  close(): Promise<void>;
};

/** A service that was found. */
export type FoundService = { readonly address: string; readonly open: () => Promise<Client> };

export function createServiceLink(resolve: () => Promise<FoundService>): ServiceLink {
  let current: { readonly address: string; readonly client: Client } | null = null;
  let opening: Promise<Client> | null = null;
  let isDoubted = true;
  const closing: Promise<unknown>[] = [];
  const find = async (): Promise<Client> => {
    const found = await resolve();
    if (current?.address !== found.address) {
      // Left open, the old client would try to reconnect forever.
      if (current !== null) closing.push(current.client.close().catch(() => {}));
      current = null;
      current = { address: found.address, client: await found.open() };
    }
    isDoubted = false;
    return current.client;
  };
  return {
    async client() {
      if (current !== null && !isDoubted) return current.client;
      opening ??= find().finally(() => {
        opening = null;
      });
      return opening;
    },
    doubt() {
      isDoubted = true;
    },
    async close() {
      await opening?.catch(() => {});
      await Promise.all([...closing, current?.client.close().catch(() => {})]);
      current = null;
    },
  };
}

/** A busy agent produces a few entries per second, so this covers several minutes without a service. */
const bufferedMax = 1_000;
const retryMs = 2_000;
/** Editors kill an agent that takes long to exit. */
const closeMsMax = 2_000;

type Buffered = { readonly draft: EntryDraft; readonly messageId: string };

export function createWorkerLink(worker: string, service: ServiceLink, note: (line: string) => void): WorkerLink {
  const buffered: Buffered[] = [];
  const run = randomUUID().slice(0, 8);
  let count = 0;
  let isClosed = false;
  let isAway = false;
  let storing: Promise<void> | null = null;
  let failure: AppError | null = null;
  let timer: Timer | null = null;

  const store = async ({ draft, messageId }: Buffered): Promise<void> => {
    const client = await service.client();
    // The client validates the draft.
    const type = draft.type as EntryType<'worker'>;
    await client.publish('worker', worker, type, draft.data as EntryFields<'worker', typeof type>, { messageId });
  };
  const storeAll = async (): Promise<void> => {
    timer?.clear();
    timer = null;
    for (let next = buffered[0]; next !== undefined; next = buffered[0]) {
      try {
        await store(next);
      } catch (cause) {
        const error = asAppError(cause);
        if (errorCodes[error.code].retry) {
          failure = error;
          service.doubt();
          if (!isAway) note(`stopgate acp: ${error.message}; entries are buffered until the service is back`);
          isAway = true;
          if (!isClosed) timer = startTimer(retryMs, () => void kick());
          return;
        }
        note(`stopgate acp: ${next.draft.type} of ${worker} was refused: ${error.message}`);
      }
      // It may have been dropped in the meantime to make room.
      if (buffered[0] === next) buffered.shift();
    }
    failure = null;
    isAway = false;
  };
  const kick = (): Promise<void> => {
    storing ??= storeAll().finally(() => {
      storing = null;
    });
    return storing;
  };
  const flush = async (): Promise<void> => {
    await kick();
    // Entries recorded while the last one was being stored.
    if (buffered.length > 0 && failure === null) return flush();
    if (failure !== null) throw failure;
  };
  const ask = async <Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> => {
    await flush();
    try {
      return await question(await service.client());
    } catch (cause) {
      const error = asAppError(cause);
      if (errorCodes[error.code].retry) service.doubt();
      throw error;
    }
  };

  return {
    worker,
    record(draft) {
      if (isClosed) return;
      count += 1;
      buffered.push({ draft, messageId: draft.messageId ?? `${worker}:${run}:${count}` });
      // Keep the first entry, the registration; drop the oldest one after it.
      if (buffered.length > bufferedMax) buffered.splice(1, 1);
      if (timer === null) void kick();
    },
    decide: (attempt) => ask((client) => client.decide(worker, { attempt: randomUUID(), ...attempt })),
    view: () => ask((client) => client.getWorker(worker)),
    obey: (command) => ask((client) => obey(client, worker, command)),
    async close() {
      isClosed = true;
      timer?.clear();
      await within(
        closeMsMax,
        flush().catch(() => {}),
      );
      if (buffered.length > 0) note(`stopgate acp: ${buffered.length} entries of ${worker} were not stored`);
    },
  };
}

async function obey(client: Client, worker: string, command: PersonCommand): Promise<string> {
  if (command.kind === 'status') return describeStatus(await client.getWorker(worker));
  const by = personAtSession;
  const { seq } =
    command.kind === 'unpause'
      ? await client.publish('own.worker', worker, 'worker.unpaused', { by })
      : await client.publish('own.worker', worker, 'worker.paused', {
          by,
          ...(command.forMs === null ? {} : { forMs: command.forMs }),
        });
  const view = await client.getWorker(worker);
  throwIfRefused(view, seq);
  return describeCommand(command, view.paused);
}

/** Wraps unexpected errors too: a bug of ours must not end the agent's work. */
const asAppError = (cause: unknown): AppError =>
  cause instanceof AppError ? cause : new AppError('check.failed', (cause as Error).message, { cause });
