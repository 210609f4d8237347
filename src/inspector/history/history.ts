/** Sends requests about the past to the history process, with a time limit for each. */
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import {
  createHistoryProcess,
  type FromProcess,
  type HistoryProgress,
  type HistorySource,
  type HistoryWork,
} from './history-process.ts';

export type HistoryOptions = {
  /** Abort when the result is no longer needed, so that the process can do other work. */
  readonly signal?: AbortSignal;
  /** Called a few times a second. */
  readonly onProgress?: (progress: HistoryProgress) => void;
};
export type History = {
  /**
   * @returns the reply as UTF-8 JSON
   * @throws AppError service.busy, log.unavailable, or the error of the work itself
   */
  ask(work: HistoryWork, options?: HistoryOptions): Promise<Uint8Array>;
  /** Starts the process ahead of a likely request. */
  prepare(): void;
  /** The process id, or null if it is not running. */
  pid(): number | null;
  close(): Promise<void>;
};

type Limits = {
  /** Maximum number of running and waiting requests. A waiting request is small. */
  readonly requestsMax: number;
  /** Time limit of one request. Folded positions are kept, so a repeated request continues from there. */
  readonly budgetMs: number;
  /** Maximum JavaScript heap of the process. */
  readonly heapMiB: number;
  /** The process ends after this time without a request, which also discards the folded positions. */
  readonly lingerMs: number;
  /** Maximum number of processes for all fleets of a service. Each takes at least 80 MB. */
  readonly processesMax: number;
};
const limitsDefault: Limits = {
  requestsMax: 32,
  budgetMs: 300_000,
  heapMiB: 768,
  lingerMs: 600_000,
  processesMax: 8,
};

type Waiter = {
  readonly onAnswer: (answer: { readonly body: Uint8Array } | { readonly error: AppError }) => void;
  readonly onProgress: ((progress: HistoryProgress) => void) | undefined;
};

export function createHistory(source: HistorySource, log: Logger, limits: Limits = limitsDefault): History {
  const waiters = new Map<number, Waiter>();
  const answerAll = (error: AppError) => {
    for (const id of [...waiters.keys()]) take(waiters, id)?.onAnswer({ error });
  };
  const history = createHistoryProcess(source, limits, {
    onMessage(news) {
      if ('log' in news) return writeLine(log, news.log);
      if ('progress' in news) waiters.get(news.id)?.onProgress?.(news.progress);
      else if ('body' in news) take(waiters, news.id)?.onAnswer(news);
      else take(waiters, news.id)?.onAnswer({ error: toAppError(news.error) });
      if (waiters.size === 0) history.linger();
    },
    onFailure(error) {
      log.warn({ err: error }, 'the history process failed; the next request starts a new one');
      answerAll(new AppError('service.busy', `the past cannot be shown: ${error.message}; try again`));
    },
  });
  let lastId = 0;
  let isClosed = false;
  return {
    async ask(work, { signal, onProgress } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw new AppError('service.busy', 'the service is closing');
      if (waiters.size >= limits.requestsMax)
        throw new AppError(
          'service.busy',
          `${limits.requestsMax} requests for the past are already open; try again later`,
        );
      lastId += 1;
      const id = lastId;
      const giveUp = (error: AppError) => {
        history.post({ cancel: id });
        take(waiters, id)?.onAnswer({ error });
      };
      const onAbort = () => giveUp(new AppError('service.busy', 'the request was cancelled'));
      const budget = setTimeout(() => giveUp(overBudget(limits)), limits.budgetMs);
      try {
        return await new Promise<Uint8Array>((resolve, reject) => {
          const onAnswer: Waiter['onAnswer'] = (answer) =>
            'body' in answer ? resolve(answer.body) : reject(answer.error);
          waiters.set(id, { onAnswer, onProgress });
          signal?.addEventListener('abort', onAbort);
          history.post({ id, work });
        });
      } finally {
        clearTimeout(budget);
        signal?.removeEventListener('abort', onAbort);
      }
    },
    prepare() {
      if (!isClosed) history.prepare();
    },
    pid: history.pid,
    async close() {
      isClosed = true;
      answerAll(new AppError('service.busy', 'the service is closing'));
      await history.end();
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
    `this took longer than the limit of ${budgetMs / 1_000} s per request; try again: a jump continues where this one ended`,
  );

const toAppError = ({ code, message, issues }: Extract<FromProcess, { error: object }>['error']) =>
  new AppError(code, message, { issues });

function writeLine(log: Logger, line: string): void {
  const { level, time, msg, ...data } = JSON.parse(line) as {
    level: 'info' | 'warn' | 'error';
    time: string;
    msg: string;
  };
  log[level](data, msg);
}
