/**
 * Records operations of concurrent clients: the call, its time, the time of the reply, and the reply. Porcupine checks
 * them for linearizability (test/system/porcupine) without knowing the log.
 */
import type { TaskView, WorkerView } from '../../../machines/index.ts';
import { createRandom } from '../../support/random.ts';
import type { Stage } from './stage.ts';

type Subject = { readonly worker?: string; readonly task?: string; readonly attempt?: string };
export type Operation = Subject & {
  readonly client: number;
  readonly kind: 'decide' | 'probe' | 'read' | 'prompt' | 'claim' | 'release' | 'holder' | 'held';
  /** Microseconds. */
  readonly call: number;
  /** Null if it is unknown whether and when the operation took effect. */
  readonly return: number | null;
  readonly answer: Partial<Answer> | null;
};
type Answer = {
  readonly cause: string;
  readonly count: number;
  readonly tasks: readonly string[];
  readonly holder: string;
};

export type History = { readonly retries: number; readonly operations: readonly Operation[] };
export type Recording = {
  /** Resolves when `count` more operations have returned. */
  returned(count: number): Promise<void>;
  /** Resolves when every client has its last reply. */
  end(): Promise<History>;
};

const retries = 3;
/** Every stop is blocked. Stops under `judged` are decided by the fold, stops under `checked` wait for a command. */
export const historyConfig = `
policies:
  judged: { retries: ${retries}, checks: [{ rules: [tests] }] }
  checked: { retries: ${retries}, checks: [{ command: fails }] }
  holding: { retries: null, checks: [{ rules: [tests] }] }
commands:
  fails: { run: [sh, -c, 'exit 1'], cwd: '.' }
`;
const policies: Readonly<Record<string, string>> = {
  j0: 'judged',
  j1: 'judged',
  c0: 'checked',
  c1: 'checked',
  h0: 'holding',
  h1: 'holding',
  h2: 'holding',
};
const tasks = ['T-0', 'T-1'];

const askTimeoutMs = 3_000;
const pauseMs = 25;
/** Pause after a failure: a lost publish stays open until the end of the history, which makes the check expensive. */
const failedPauseMs = 1_000;
/** An attempt without a reply by then is recorded as unknown. */
const endMsMax = 30_000;
const nowUs = () => Math.round(performance.now() * 1_000);
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

const random = createRandom('history');
const chosen = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;

type DecisionBody = {
  readonly cause: string;
  readonly tasks: readonly string[];
  readonly retry: { readonly count: number };
};
type Act = (client: number) => Promise<unknown>;

export async function startHistory(stage: Stage): Promise<Recording> {
  const { client } = stage;
  for (const [worker, policy] of Object.entries(policies))
    await client.publish(`worker.${worker}.worker.registered`, { policy }, `registered-${worker}`);
  for (const task of tasks) await client.publish(`task.${task}.task.created`, {}, `created-${task}`);
  const operations: Operation[] = [];
  let endMs = Number.POSITIVE_INFINITY;
  const acts = actsOf(createCalls(stage, operations, () => performance.now() > endMs + endMsMax));
  const working = acts.map(async (act, name) => {
    while (endMs === Number.POSITIVE_INFINITY) await act(name);
  });
  return {
    async returned(more) {
      for (const until = operations.length + more; operations.length < until; ) await pause(pauseMs);
    },
    async end() {
      endMs = performance.now();
      await Promise.all(working);
      return { retries, operations };
    },
  };
}

type Calls = ReturnType<typeof createCalls>;

/** @param isLate whether to give up attempts without a reply */
function createCalls({ client, http }: Stage, operations: Operation[], isLate: () => boolean) {
  const ask = createAsk(client, http);
  let count = 0;
  const fresh = () => {
    count += 1;
    return String(count);
  };
  const record = async (
    operation: Pick<Operation, 'client' | 'kind'> & Subject,
    run: () => Promise<Partial<Answer> | null>,
  ): Promise<void> => {
    const call = nowUs();
    const answer = await run();
    operations.push({ ...operation, call, return: answer === null ? null : nowUs(), answer });
    await pause(answer === null ? failedPauseMs : pauseMs);
  };
  const reading = async <Body>(
    operation: Parameters<typeof record>[0],
    subject: string,
    read: (body: Body) => Partial<Answer>,
    body?: object,
  ) =>
    record(operation, async () => {
      const found = await ask<Body>(subject, body);
      return found === null ? null : read(found);
    });
  return {
    fresh,
    /** Repeats the attempt until there is a reply. It counts once, so it is a single operation. */
    decide: (name: number, worker: string, attempt: string) =>
      record({ client: name, kind: 'decide', worker, attempt }, async () => {
        for (;;) {
          const found = await ask<DecisionBody>(`decide.${worker}`, { attempt });
          if (found !== null) return { cause: found.cause, count: found.retry.count };
          if (isLate()) return null;
          await pause(pauseMs);
        }
      }),
    publish(kind: 'claim' | 'release' | 'prompt', name: number, worker: string, task?: string) {
      const type = { claim: 'task.claimed', release: 'task.released', prompt: 'prompt.submitted' }[kind];
      const data = task === undefined ? {} : { task };
      const stored = () => client.publish(`worker.${worker}.${type}`, data, `history-${fresh()}`);
      return record({ client: name, kind, worker, ...data }, () =>
        stored().then(
          () => ({}),
          () => null,
        ),
      );
    },
    read: (name: number, worker: string) =>
      reading<WorkerView>({ client: name, kind: 'read', worker }, `get.worker.${worker}`, ({ retry }) => ({
        count: retry.count,
      })),
    probe: (name: number, worker: string) =>
      reading<DecisionBody>({ client: name, kind: 'probe', worker }, `probe.${worker}`, ({ cause, retry }) => ({
        cause,
        count: retry.count,
      })),
    /** A blocked stop names the tasks that its worker holds. */
    held: (name: number, worker: string) =>
      reading<DecisionBody>({ client: name, kind: 'held', worker }, `decide.${worker}`, (it) => ({ tasks: it.tasks }), {
        attempt: fresh(),
      }),
    holder: (name: number, task: string) =>
      reading<TaskView>({ client: name, kind: 'holder', task }, `get.task.${task}`, (it) => ({
        holder: it.worker ?? '',
      })),
  };
}

/**
 * Sends a request over NATS, to any replica, or over HTTP, to a random one. Null if there was no reply, or an error.
 */
function createAsk(client: Stage['client'], http: Stage['http']) {
  const overNats = async (subject: string, body: object): Promise<unknown> => {
    const reply = await client.ask(subject, body, askTimeoutMs);
    return reply.code === '' ? reply.body : null;
  };
  const overHttp = async (subject: string, body: object): Promise<unknown> => {
    const reply = await fetch(`${chosen(http())}/api/main/${subject.replaceAll('.', '/')}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(askTimeoutMs),
    });
    return reply.ok ? reply.json() : null;
  };
  return <Body>(subject: string, body: object = {}) =>
    chosen([overNats, overHttp])(subject, body).catch(() => null) as Promise<Body | null>;
}

/** The repeated actions of each client. */
function actsOf({ fresh, decide, publish, read, probe, held, holder }: Calls): Act[] {
  const judged = ['j0', 'j1'].flatMap((worker): Act[] => {
    let newest = fresh();
    return [
      (name) => {
        newest = fresh();
        return decide(name, worker, newest);
      },
      // Repeat an attempt, during or after the first request.
      (name) => decide(name, worker, newest),
      (name) => chosen([read, read, probe, () => publish('prompt', name, worker)])(name, worker),
    ];
  });
  const checked = ['c0', 'c1'].flatMap((worker, index): Act[] => [
    (name) => {
      const attempt = fresh();
      return Promise.all([decide(name, worker, attempt), decide(100 + index, worker, attempt)]);
    },
    (name) => read(name, worker),
  ]);
  const holding = ['h0', 'h1', 'h2'].map(
    (worker): Act =>
      (name) => {
        if (random() < 0.4) return held(name, worker);
        return publish(chosen(['claim', 'release'] as const), name, worker, chosen(tasks));
      },
  );
  return [...judged, ...checked, ...holding, (name) => holder(name, chosen(tasks))];
}
