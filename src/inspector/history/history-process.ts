/**
 * The service's handle to the history process, and the messages between them. The first message starts the process. It
 * ends some time after the last one, or with the service.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ErrorCode, ErrorIssue } from '../../errors.ts';
import type { ConnectionOptions } from '../../nats/connection.ts';
import type { Topic } from '../messages.ts';
import type { Judged } from '../receipts/receipt.ts';
import type { Span, TimeRange } from '../statistics/spans.ts';

/** How the process connects to the log: like the service itself. This is the first message it receives. */
export type HistorySource = Pick<ConnectionOptions, 'url' | 'credsFile' | 'inboxPrefix'> & { readonly fleet: string };

/**
 * The work that the process can do. `topic` null means all actors. `width` is the number of entries per bucket, a power
 * of two. `judged` is a complete decision. `last` is the number of attempts to compare; `sinceMs`, if not null,
 * compares all since that time instead.
 */
export type HistoryWork =
  | { readonly kind: 'past'; readonly seq: number; readonly topic: Topic | null }
  | { readonly kind: 'outline'; readonly fromSeq: number; readonly toSeq: number; readonly width: number }
  | { readonly kind: 'statistics'; readonly span: Span | TimeRange }
  | { readonly kind: 'receipt'; readonly judged: Judged }
  | { readonly kind: 'rules'; readonly sinceMs: number }
  | { readonly kind: 'whatIf'; readonly policy: string; readonly last: number; readonly sinceMs: number | null };

/** Number of entries folded so far, and in total. */
export type HistoryProgress = { readonly done: number; readonly total: number };

export type HistoryRequest = { readonly id: number; readonly work: HistoryWork };
export type ToProcess = HistoryRequest | { readonly cancel: number };
/** `body` is the reply as UTF-8 JSON. `log` is a JSON line for the service's log. */
export type FromProcess =
  | { readonly log: string }
  | { readonly id: number; readonly progress: HistoryProgress }
  | { readonly id: number; readonly body: Uint8Array }
  | {
      readonly id: number;
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly issues: readonly ErrorIssue[] };
    };

export type HistoryProcess = {
  /** Sends a message. Starts the process if needed. */
  post(message: ToProcess): void;
  /** Starts the process ahead of a likely request. It ends soon if none comes. */
  prepare(): void;
  /** Ends the process after a while without another message. Call it when no request is open. */
  linger(): void;
  /** The process id, or null if it is not running. */
  pid(): number | null;
  /** Kills the process and resolves when it is gone. */
  end(): Promise<void>;
};
type Options = {
  readonly heapMiB: number;
  readonly lingerMs: number;
  /** Maximum number of processes for all fleets of a service. The longest idle one is ended to make room. */
  readonly processesMax: number;
};
type Events = {
  onMessage(news: FromProcess): void;
  /** Called when the process could not start or ended unexpectedly. */
  onFailure(error: Error): void;
};

const running = new Set<object>();
const endIdleProcess = new Map<object, () => void>();

/** Idle time of a process that was started ahead and received no request. */
const unusedMs = 60_000;

/** How many characters of stderr to keep. The reason precedes a native stack trace of several KB. */
const stderrTailMax = 65_536;

export function createHistoryProcess(source: HistorySource, options: Options, events: Events): HistoryProcess {
  const { processesMax } = options;
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  const self = {};
  const cancelLinger = () => {
    clearTimeout(timer);
    endIdleProcess.delete(self);
  };
  const forget = () => {
    cancelLinger();
    child = null;
    running.delete(self);
  };
  const end = async () => {
    const ended = child;
    forget();
    if (ended?.pid === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const gone = once(ended, 'close');
    // It has no state to save.
    ended.kill('SIGKILL');
    await gone;
  };
  const start = () => {
    if (running.size >= processesMax) [...endIdleProcess.values()][0]?.();
    if (running.size >= processesMax)
      throw new Error(`${processesMax} history processes are already running, the maximum`);
    running.add(self);
    const started = fork(programFile(), {
      execArgv: [...inheritedArguments(), ...heapArguments(options)],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let stderrTail = '';
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderrTail = (stderrTail + text).slice(-stderrTailMax);
    });
    const fail = (error: Error) => {
      if (child !== started) return;
      forget();
      events.onFailure(error);
    };
    started.on('message', (news: FromProcess) => child === started && events.onMessage(news));
    started.on('error', fail);
    started.on('close', (code, signal) => fail(new Error(describeEnd(code, signal, stderrTail))));
    started.send(source);
    return started;
  };
  const linger = (ms = options.lingerMs) => {
    cancelLinger();
    endIdleProcess.set(self, () => void end());
    timer = setTimeout(() => void end(), ms);
  };
  return {
    end,
    pid: () => child?.pid ?? null,
    post(message) {
      if (child === null && 'cancel' in message) return;
      cancelLinger();
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
        // The request itself will report the error.
      }
    },
    linger: () => linger(),
  };
}

/**
 * Single-threaded garbage collection leaves the other cores to the service and NATS. Starting with a larger heap folds
 * a fleet of a few thousand workers 20% faster.
 */
const heapArguments = ({ heapMiB }: Options): string[] => [
  `--max-old-space-size=${heapMiB}`,
  `--initial-old-space-size=${Math.floor(heapMiB / 3)}`,
  `--max-semi-space-size=${Math.ceil(heapMiB / 24)}`,
  `--min-semi-space-size=${Math.ceil(heapMiB / 48)}`,
  '--single-threaded-gc',
];

/** Node's own arguments, such as trusted certificates, without the debugger's port, which is already in use. */
const inheritedArguments = () => withoutDebugger(process.execArgv);

/** Removes debugger options. A value may be a separate argument: `--inspect-port 9230`. */
export function withoutDebugger(args: readonly string[]): string[] {
  const isDebuggerOption = (arg = '') => /^--(?:inspect|debug-port)/.test(arg);
  return args.filter(
    (arg, index) => !isDebuggerOption(arg) && (arg.startsWith('-') || !isDebuggerOption(args[index - 1])),
  );
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null, stderrTail: string): string {
  if (stderrTail.includes('out of memory')) return 'it ran out of memory';
  const why = stderrTail.split('\n').find((line) => /Error\b/.test(line));
  return `it ended with ${signal ?? code}${why === undefined ? '' : `: ${why.trim()}`}`;
}

/**
 * Finds the program: next to this file in a build, or in dist when running from source, since Node cannot run
 * TypeScript.
 * @throws Error if it was not built
 */
function programFile(): string {
  const [built = '', elsewhere = ''] = ['./main.js', '../../../dist/src/inspector/history/main.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const file = [built, elsewhere].find((path) => existsSync(path));
  if (file === undefined) throw new Error(`${elsewhere} does not exist: run npm run build`);
  return file;
}
