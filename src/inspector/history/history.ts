/** History: asks the history process about the past, within a budget, and ends it when nobody asks any more. */
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
  /** Abort it when nobody waits for the result: the process then does other work. */
  readonly signal?: AbortSignal;
  /** A few times a second. */
  readonly onProgress?: (progress: HistoryProgress) => void;
};
export type History = {
  /** @returns the body of the reply, JSON as UTF-8 @throws AppError service.busy, log.unavailable, and what the work throws */
  ask(work: HistoryWork, options?: HistoryOptions): Promise<Uint8Array>;
  /** Somebody is about to ask: the process gets ready meanwhile. */
  prepare(): void;
  /** Returns the id of the process; null: there is none now. */
  pid(): number | null;
  close(): Promise<void>;
};

type Limits = {
  /** Requests that run or wait; each is small, until its turn comes. */
  readonly requestsMax: number;
  /** The time of one request. The fold of until then stays, so the same request goes on from there. */
  readonly budgetMs: number;
  /** The largest JavaScript heap of the process. */
  readonly heapMiB: number;
  /** After this long without a request its memory is given back, folded positions included. */
  readonly lingerMs: number;
  /** The most processes of one service, for all its fleets: each takes 80 MB and more. */
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
      log.warn({ err: error }, 'no history process; the next request starts one');
      answerAll(new AppError('service.busy', `the past could not be folded: ${error.message}; ask again`));
    },
  });
  let lastId = 0;
  let isClosed = false;
  return {
    async ask(work, { signal, onProgress } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw new AppError('service.busy', 'the service is closing');
      if (waiters.size >= limits.requestsMax)
        throw new AppError('service.busy', `${limits.requestsMax} requests for the past are open; ask again later`);
      lastId += 1;
      const id = lastId;
      const giveUp = (error: AppError) => {
        history.post({ cancel: id });
        take(waiters, id)?.onAnswer({ error });
      };
      const onAbort = () => giveUp(new AppError('service.busy', 'the request was given up'));
      const budget = setTimeout(() => giveUp(overBudget(limits)), limits.budgetMs);
      try {
        return await new Promise<Uint8Array>((resolve, reject) => {
          const onAnswer: Waiter['onAnswer'] = (it) => ('body' in it ? resolve(it.body) : reject(it.error));
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
    `this took more than ${budgetMs / 1_000} s, the most for one request; what is folded stays for a while, so a jump goes on from there when it is asked for again`,
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
