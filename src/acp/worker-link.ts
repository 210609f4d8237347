/**
 * One worker's line to the service. Entries are stored one after the other in the order in which they came, before the
 * decision that is asked for behind them. While the service is away they are kept, and stored when it is back.
 */
import { randomUUID } from 'node:crypto';
import type { AttemptFields, Decision, WorkerView } from '../../machines/index.ts';
import type { AnswerableDecision } from '../agents/shared/block-text.ts';
import type { EntryDraft } from '../agents/shared/entry-drafts.ts';
import {
  describeCommand,
  describeStanding,
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
  /** @throws AppError: nobody judged it */
  decide(attempt: AttemptFields): Promise<Judgement>;
  /** Resolves to what the fleet knows of it, the entries above included. @throws AppError */
  view(): Promise<WorkerView>;
  /** Does what a person has said by a prompt. Resolves to the answer for the person. @throws AppError */
  obey(command: PersonCommand): Promise<string>;
  /** Stores what is left, for a short time. */
  close(): Promise<void>;
};

export type ServiceLink = {
  /** Connects where it is not connected, and again where the service has moved. @throws AppError */
  client(): Promise<Client>;
  /** The last call has failed: look where the service is before the next one. */
  doubt(): void;
  close(): Promise<void>;
};

/** A service that was found: its address, and how a client of it is opened. */
export type Place = { readonly address: string; readonly open: () => Promise<Client> };

export function createServiceLink(resolve: () => Promise<Place>): ServiceLink {
  let current: { readonly address: string; readonly client: Client } | null = null;
  let opening: Promise<Client> | null = null;
  let isDoubted = true;
  const closing: Promise<unknown>[] = [];
  const find = async (): Promise<Client> => {
    const place = await resolve();
    if (current?.address !== place.address) {
      // The old one reconnects for ever to where nobody is any more.
      if (current !== null) closing.push(current.client.close().catch(() => {}));
      current = null;
      current = { address: place.address, client: await place.open() };
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

/** An agent at work stores a few entries a second: that is what is kept of some minutes without a service. */
const keptMax = 1_000;
const retryMs = 2_000;
/** The editor waits for our end, and kills what takes longer. */
const closeMsMax = 2_000;

type Kept = { readonly draft: EntryDraft; readonly messageId: string };

export function createWorkerLink(worker: string, service: ServiceLink, note: (line: string) => void): WorkerLink {
  const kept: Kept[] = [];
  const run = randomUUID().slice(0, 8);
  let [count, isClosed, isAway] = [0, false, false];
  let storing: Promise<void> | null = null;
  let failure: AppError | null = null;
  let timer: Timer | null = null;

  const store = async ({ draft, messageId }: Kept): Promise<void> => {
    const client = await service.client();
    // The client parses it, so that a draft that is no entry is refused there.
    const type = draft.type as EntryType<'worker'>;
    await client.publish('worker', worker, type, draft.data as EntryFields<'worker', typeof type>, { messageId });
  };
  const storeAll = async (): Promise<void> => {
    timer?.clear();
    timer = null;
    for (let next = kept[0]; next !== undefined; next = kept[0]) {
      try {
        await store(next);
      } catch (cause) {
        const error = asAppError(cause);
        if (errorCodes[error.code].retry) {
          failure = error;
          service.doubt();
          if (!isAway) note(`stopgate acp: ${error.message}; what the agent does is kept until the service is back`);
          isAway = true;
          if (!isClosed) timer = startTimer(retryMs, () => void kick());
          return;
        }
        note(`stopgate acp: ${next.draft.type} of ${worker} changes nothing: ${error.message}`);
      }
      // It may have been dropped meanwhile, to make room.
      if (kept[0] === next) kept.shift();
    }
    [failure, isAway] = [null, false];
  };
  const kick = (): Promise<void> => {
    storing ??= storeAll().finally(() => {
      storing = null;
    });
    return storing;
  };
  const flush = async (): Promise<void> => {
    await kick();
    // What came while the last one was being stored.
    if (kept.length > 0 && failure === null) return flush();
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
      kept.push({ draft, messageId: draft.messageId ?? `${worker}:${run}:${count}` });
      // The registration is the first, and says whose worker it is.
      if (kept.length > keptMax) kept.splice(1, 1);
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
      if (kept.length > 0) note(`stopgate acp: ${kept.length} entries of ${worker} were not stored`);
    },
  };
}

async function obey(client: Client, worker: string, command: PersonCommand): Promise<string> {
  if (command.kind === 'status') return describeStanding(await client.getWorker(worker));
  const by = { by: personAtSession };
  const { seq } =
    command.kind === 'unpause'
      ? await client.publish('own.worker', worker, 'worker.unpaused', by)
      : await client.publish(
          'own.worker',
          worker,
          'worker.paused',
          command.forMs === null ? by : { ...by, forMs: command.forMs },
        );
  const view = await client.getWorker(worker);
  throwIfRefused(view, seq);
  return describeCommand(command, view.paused);
}

/** A bug of ours must not end the agent's work either. */
const asAppError = (cause: unknown): AppError =>
  cause instanceof AppError ? cause : new AppError('check.failed', (cause as Error).message, { cause });
