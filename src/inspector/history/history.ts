/** History: asks the history thread for the past, within a budget, and ends it when nobody asks any more. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { FromThread, HistoryProgress, HistorySource, HistoryWork, ToThread } from './work.ts';

export type HistoryOptions = {
  /** Aborted: nobody waits for the result, and the thread does other work. */
  readonly signal?: AbortSignal;
  /** A few times a second. */
  readonly onProgress?: (progress: HistoryProgress) => void;
};
export type History = {
  /** @returns the body of the reply, JSON as UTF-8 @throws AppError service.busy, log.unavailable, and what the work throws */
  ask(work: HistoryWork, options?: HistoryOptions): Promise<Uint8Array>;
  /** Whether there is a thread now. */
  isRunning(): boolean;
  close(): Promise<void>;
};

type Limits = {
  /** Requests that run or wait; each is small, until its turn comes. */
  readonly requestsMax: number;
  /** What is folded by then stays, so the same request goes on from there. */
  readonly budgetMs: number;
  /** The memory of the thread. */
  readonly heapMiB: number;
  /** After this long without a request its memory is given back, checkpoints included. */
  readonly lingerMs: number;
};
const limitsDefault: Limits = { requestsMax: 32, budgetMs: 300_000, heapMiB: 768, lingerMs: 600_000 };

/**
 * Of its memory, for what is new. Node collects it by helper threads that have no low priority, and take the cores from the
 * service: with four times the usual size they have half as much to do.
 */
const youngGenerationMiB = 192;

type Waiter = {
  readonly onAnswer: (answer: { readonly body: Uint8Array } | { readonly error: AppError }) => void;
  readonly onProgress: ((progress: HistoryProgress) => void) | undefined;
};

export function createHistory(source: HistorySource, log: Logger, limits: Limits = limitsDefault): History {
  const waiters = new Map<number, Waiter>();
  const answerAll = (error: AppError) => {
    for (const id of [...waiters.keys()]) take(waiters, id)?.onAnswer({ error });
  };
  const thread = createThread(source, limits, {
    onMessage(news) {
      if ('progress' in news) waiters.get(news.id)?.onProgress?.(news.progress);
      else if ('body' in news) take(waiters, news.id)?.onAnswer(news);
      else take(waiters, news.id)?.onAnswer({ error: toAppError(news.error) });
      if (waiters.size === 0) thread.linger();
    },
    onFailure(error) {
      log.warn({ err: error }, 'the history thread ended; the next request starts another');
      answerAll(new AppError('service.busy', `the past could not be folded: ${error.message}; ask again`));
    },
  });
  let lastId = 0;
  return {
    async ask(work, { signal, onProgress } = {}) {
      signal?.throwIfAborted();
      if (waiters.size >= limits.requestsMax)
        throw new AppError('service.busy', `${limits.requestsMax} requests for the past are open; ask again later`);
      lastId += 1;
      const id = lastId;
      const giveUp = (error: AppError) => {
        thread.post({ cancel: id });
        take(waiters, id)?.onAnswer({ error });
      };
      const onAbort = () => giveUp(new AppError('service.busy', 'the request was given up'));
      const budget = setTimeout(() => giveUp(overBudget(limits)), limits.budgetMs);
      try {
        return await new Promise<Uint8Array>((resolve, reject) => {
          const onAnswer: Waiter['onAnswer'] = (it) => ('body' in it ? resolve(it.body) : reject(it.error));
          waiters.set(id, { onAnswer, onProgress });
          signal?.addEventListener('abort', onAbort);
          thread.post({ id, work });
        });
      } finally {
        clearTimeout(budget);
        signal?.removeEventListener('abort', onAbort);
      }
    },
    isRunning: thread.isRunning,
    async close() {
      answerAll(new AppError('service.busy', 'the service is closing'));
      await thread.end();
    },
  };
}

function take(waiters: Map<number, Waiter>, id: number): Waiter | undefined {
  const waiter = waiters.get(id);
  waiters.delete(id);
  return waiter;
}

const overBudget = ({ budgetMs }: Limits) =>
  new AppError(
    'service.busy',
    `this took more than ${budgetMs / 1_000} s, the most for one request; what is folded stays for a while, so a jump goes on from there when it is asked for again`,
  );

const toAppError = ({ code, message, issues }: Extract<FromThread, { error: object }>['error']) =>
  new AppError(code, message, { issues });

type ThreadEvents = { onMessage(news: FromThread): void; onFailure(error: Error): void };

/** The thread: started by the first message, ended a while after the last. */
function createThread(source: HistorySource, { heapMiB, lingerMs }: Limits, events: ThreadEvents) {
  let worker: Worker | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = async () => {
    clearTimeout(timer);
    const ended = worker;
    worker = null;
    await ended?.terminate();
  };
  const start = () => {
    const started = new Worker(threadFile(), {
      workerData: source,
      name: 'history',
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: youngGenerationMiB },
    });
    started.on('message', (news: FromThread) => worker === started && events.onMessage(news));
    started.on('error', (error) => {
      if (worker !== started) return;
      worker = null;
      clearTimeout(timer);
      events.onFailure(error as Error);
    });
    return started;
  };
  return {
    end,
    isRunning: () => worker !== null,
    post(message: ToThread) {
      if (worker === null && 'cancel' in message) return;
      clearTimeout(timer);
      worker ??= start();
      worker.postMessage(message);
    },
    linger() {
      clearTimeout(timer);
      timer = setTimeout(() => void end(), lingerMs);
    },
  };
}

/** Next to this file in a build; in dist when running from the sources, as tests do: Node runs no TypeScript. */
function threadFile(): string {
  const [built = '', elsewhere = ''] = ['./thread.js', '../../../dist/src/inspector/history/thread.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return existsSync(built) ? built : elsewhere;
}
