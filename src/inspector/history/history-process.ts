/**
 * The history process as the service has it, and what they send each other. The first message starts it; it ends a while
 * after the last one, or with the service.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ErrorCode, ErrorIssue } from '../../errors.ts';
import type { ConnectionOptions } from '../../nats/connection.ts';
import type { Topic } from '../messages.ts';
import type { Span, TimeRange } from '../statistics/spans.ts';

/** The process reaches the log by this, as the service itself does. It is the first message to it. */
export type HistorySource = Pick<ConnectionOptions, 'url' | 'credsFile' | 'inboxPrefix'> & { readonly fleet: string };

/**
 * `topic` null: all actors. `last`: how many attempts to compare; `sinceMs`: all from this time on instead. `width`:
 * entries a bucket, a power of two.
 */
export type HistoryWork =
  | { readonly kind: 'past'; readonly seq: number; readonly topic: Topic | null }
  | { readonly kind: 'outline'; readonly fromSeq: number; readonly toSeq: number; readonly width: number }
  | { readonly kind: 'statistics'; readonly span: Span | TimeRange }
  | { readonly kind: 'whatIf'; readonly policy: string; readonly last: number; readonly sinceMs: number | null };

/** Entries folded of those to fold. */
export type HistoryProgress = { readonly done: number; readonly total: number };

export type HistoryRequest = { readonly id: number; readonly work: HistoryWork };
export type ToProcess = HistoryRequest | { readonly cancel: number };
/** `body`: of the reply, JSON as UTF-8. `log`: a line of JSON for the log of the service. */
export type FromProcess =
  | { readonly log: string }
  | { readonly id: number; readonly progress: HistoryProgress }
  | { readonly id: number; readonly body: Uint8Array }
  | {
      readonly id: number;
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly issues: readonly ErrorIssue[] };
    };

export type HistoryProcess = {
  /** Starts it where there is none. */
  post(message: ToProcess): void;
  /** Starts it where there is none, for a request that is likely to come: it ends after a while without one. */
  prepare(): void;
  /** Ends it after a while without another message: nobody waits for anything now. */
  linger(): void;
  /** Returns its process id; null: there is none now. */
  pid(): number | null;
  /** Ends it, and resolves when it is gone. */
  end(): Promise<void>;
};
type Options = {
  readonly heapMiB: number;
  readonly lingerMs: number;
  /** The most processes of one service, for all its fleets. The one that is idle longest makes room. */
  readonly processesMax: number;
};
type Events = {
  onMessage(news: FromProcess): void;
  /** Called when it ended by itself. */
  onFailure(error: Error): void;
};

const running = new Set<object>();
const endIdle = new Map<object, () => void>();

/** A process that was started ahead ends this soon, since nobody may come. */
const unusedMs = 60_000;

/** The end of stderr that is kept. The reason stands before a native stack trace, which may take some KB. */
const lastWordsMax = 65_536;

export function createHistoryProcess(source: HistorySource, options: Options, events: Events): HistoryProcess {
  const { processesMax } = options;
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  const self = {};
  const wake = () => {
    clearTimeout(timer);
    endIdle.delete(self);
  };
  const forget = () => {
    wake();
    child = null;
    running.delete(self);
  };
  const end = async () => {
    const ended = child;
    forget();
    if (ended?.pid === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const gone = once(ended, 'close');
    // It has nothing to keep.
    ended.kill('SIGKILL');
    await gone;
  };
  const start = () => {
    if (running.size >= processesMax) [...endIdle.values()][0]?.();
    if (running.size >= processesMax) throw new Error(`the pasts of ${processesMax} fleets are being folded`);
    running.add(self);
    const started = fork(programFile(), {
      execArgv: [...inheritedArguments(), ...heapArguments(options)],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let lastWords = '';
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-lastWordsMax);
    });
    const fail = (error: Error) => {
      if (child !== started) return;
      forget();
      events.onFailure(error);
    };
    started.on('message', (news: FromProcess) => child === started && events.onMessage(news));
    started.on('error', fail);
    started.on('close', (code, signal) => fail(new Error(describeEnd(code, signal, lastWords))));
    started.send(source);
    return started;
  };
  const linger = (ms = options.lingerMs) => {
    wake();
    endIdle.set(self, () => void end());
    timer = setTimeout(() => void end(), ms);
  };
  return {
    end,
    pid: () => child?.pid ?? null,
    post(message) {
      if (child === null && 'cancel' in message) return;
      wake();
      try {
        child ??= start();
        child.send(message);
      } catch (error) {
        events.onFailure(error as Error);
      }
    },
    prepare() {
      if (child !== null || running.size >= processesMax) return;
      try {
        child = start();
        linger(Math.min(options.lingerMs, unusedMs));
      } catch {
        // The request will say why.
      }
    },
    linger: () => linger(),
  };
}

/**
 * Threads that collect garbage at the same time would take the other cores from the service and from NATS. A fleet of some
 * thousand workers is folded a fifth faster where V8 does not begin with a small heap.
 */
const heapArguments = ({ heapMiB }: Options): string[] => [
  `--max-old-space-size=${heapMiB}`,
  `--initial-old-space-size=${Math.floor(heapMiB / 3)}`,
  `--max-semi-space-size=${Math.ceil(heapMiB / 24)}`,
  `--min-semi-space-size=${Math.ceil(heapMiB / 48)}`,
  '--single-threaded-gc',
];

/** Returns the arguments of Node itself, such as whose certificates it trusts, without the port of its debugger. */
const inheritedArguments = () => withoutDebugger(process.execArgv);

/** The value of an option may be an argument of its own: `--inspect-port 9230`. */
export function withoutDebugger(args: readonly string[]): string[] {
  const isOfDebugger = (arg = '') => /^--(?:inspect|debug-port)/.test(arg);
  return args.filter((arg, index) => !isOfDebugger(arg) && (arg.startsWith('-') || !isOfDebugger(args[index - 1])));
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null, lastWords: string): string {
  if (lastWords.includes('out of memory')) return 'it ran out of memory';
  const why = lastWords.split('\n').find((line) => /Error\b/.test(line));
  return `it ended with ${signal ?? code}${why === undefined ? '' : `: ${why.trim()}`}`;
}

/**
 * Next to this file in a build; in dist when running from the sources, as tests do: Node runs no TypeScript.
 * @throws Error where the sources were not built
 */
function programFile(): string {
  const [built = '', elsewhere = ''] = ['./main.js', '../../../dist/src/inspector/history/main.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const file = [built, elsewhere].find((path) => existsSync(path));
  if (file === undefined) throw new Error(`${elsewhere} does not exist: run npm run build`);
  return file;
}
