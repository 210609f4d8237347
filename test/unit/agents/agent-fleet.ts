/**
 * A fleet in memory behind the real hook call handler. Calls go through the agents' adapters into the real fold, and
 * decisions come back in the agent's form. `find` sets the results of checks that inspect the work; running checks is
 * covered by the integration tests.
 */
import {
  type CheckResult,
  createFleet,
  type Decision,
  type Fleet,
  foldEntry,
  payloadBytesMax,
  probe,
  readFields,
  readSubject,
  viewWorker,
  type WorkerView,
} from '../../../machines/index.ts';
import { agents } from '../../../src/agents/index.ts';
import { type CallOptions, createHookCallHandler } from '../../../src/agents/shared/hook-call-handler.ts';
import { AppError } from '../../../src/errors.ts';
import type { Service } from '../../../src/service/index.ts';
import type { NewEntry } from '../../../src/service/publish.ts';
import { judgingOf } from '../../../src/service/session-policy.ts';

export type AgentFleet = {
  /** One hook call, posted to `/hooks/<agent>?event=<event>`. Resolves to the answer to the agent. */
  call(agent: string, body: object, event?: string, options?: CallOptions): Promise<object | null>;
  /** Stores an entry without an adapter, like another replica. */
  publish(entry: NewEntry): Promise<unknown>;
  view(worker: string): WorkerView;
  workers(): string[];
  /** The stored entries, in order. */
  readonly entries: NewEntry[];
  /** The causes of the worker's decisions, in order. */
  causes(worker: string): string[];
  /** Sets the result of the check with this name. Checks pass by default. */
  find(check: string, result: Finding): void;
  /** Stores an entry that does not come from an agent's hook. */
  fold(subject: string, data: object): void;
  /** Resolves an escalation like a person. */
  resolve(worker: string, prompt: string): void;
  /** The number of probes. */
  probes(): number;
  /** Lets time pass without any call. */
  pass(ms: number): void;
  /** Advances the hook call handler's clock. */
  wait(ms: number): void;
};

type Finding = { readonly outcome: string; readonly reason?: string; readonly feedback?: unknown };

export function createAgentFleet(policy: object, more: Record<string, unknown> = {}): AgentFleet {
  const fleet = createFleet('main');
  const { fold, decisions, pass } = createFold(fleet);
  fold('stopgate.main.own.fleet.main.policy.set', { policies: { default: policy }, ...more });
  const findings = new Map<string, Finding>();
  const { service, entries, probes } = createService(fleet, fold, decisions, findings);
  let edgeMs = 0;
  const handle = createHookCallHandler(service, { stopwatch: () => edgeMs });
  return {
    async call(agent, body, event, options) {
      const read = agents.get(agent)?.readHook;
      if (read === undefined) throw new Error(`no adapter ${agent}`);
      return handle(read(body, event), options);
    },
    publish: (entry) => service.publish(entry),
    view(worker) {
      const view = viewWorker(fleet, worker, fleet.nowMs);
      if (view === null) throw new Error(`no worker ${worker}`);
      return view;
    },
    workers: () => [...fleet.workers.keys()],
    entries,
    causes: (worker) => decisions.filter((it) => it.worker === worker).map(({ cause }) => cause),
    find: (check, result) => findings.set(check, result),
    fold: (subject, data) => void fold(`stopgate.main.${subject}`, data),
    resolve(worker, prompt) {
      fold(`stopgate.main.own.worker.${worker}.escalation.resolved`, { by: 'me', verdict: 'resume', prompt });
    },
    probes,
    pass,
    wait: (ms) => {
      edgeMs += ms;
    },
  };
}

type Fold = (subject: string, data: object) => number;

/** Folds entries like the host, one second apart. Returns their sequence numbers. */
function createFold(fleet: Fleet): { fold: Fold; decisions: Decision[]; pass(ms: number): void } {
  const decisions: Decision[] = [];
  let seq = 0;
  let passedMs = 0;
  const fold: Fold = (subject, data) => {
    const address = readSubject(subject);
    if (address === null || 'code' in address) throw new Error(`no subject: ${subject}`);
    // Serialise like the log, so that values JSON drops are dropped here too.
    const text = JSON.stringify(data);
    if (Buffer.byteLength(text) > payloadBytesMax) throw new AppError('entry.large', subject);
    const entry = readFields(address, JSON.parse(text));
    if ('code' in entry) throw new AppError('input.bad', `${subject}: ${entry.message}`);
    seq += 1;
    for (const outcome of foldEntry(fleet, { seq, atMs: passedMs + 1_000 * seq, entry }).outcomes)
      if (outcome.kind === 'decided') decisions.push(outcome.decision);
    return seq;
  };
  const pass = (ms: number) => {
    passedMs += ms;
    fold('stopgate.main.worker.another.heartbeat.sent', {});
  };
  return { fold, decisions, pass };
}

function createService(
  fleet: Fleet,
  fold: Fold,
  decisions: readonly Decision[],
  findings: ReadonlyMap<string, Finding>,
) {
  const resultOf = (check: string) => ({ check, outcome: 'pass', ...findings.get(check) }) as const;
  const entries: NewEntry[] = [];
  const messageIds = new Set<string>();
  let seq = 0;
  let probes = 0;
  const openCheck = (worker: string) => {
    const attempt = fleet.workers.read(worker)?.snapshot.context.worker.attempt ?? null;
    return attempt === null || attempt.pending === null
      ? null
      : { attempt: attempt.attempt, check: attempt.pending.name };
  };
  const service = {
    async publish(entry: NewEntry) {
      const { entity, id, type, data, messageId } = entry;
      if (messageId !== undefined && messageIds.has(messageId)) return { seq };
      if (messageId !== undefined) messageIds.add(messageId);
      entries.push(entry);
      seq = fold(`stopgate.main.${entity}.${id}.${type}`, data);
      return { seq };
    },
    async decide(worker: string, body: object) {
      fold(`stopgate.main.worker.${worker}.stop.attempted`, body);
      for (let open = openCheck(worker); open !== null; open = openCheck(worker))
        fold(`stopgate.main.own.worker.${worker}.check.finished`, { attempt: open.attempt, ...resultOf(open.check) });
      const decided = decisions.findLast((it) => it.worker === worker);
      if (decided === undefined) throw new Error('the attempt is still open');
      return decided;
    },
    async probe(worker: string, body: object, scope?: 'stop' | 'step') {
      probes += 1;
      let found = probe(fleet, worker, body, fleet.nowMs, scope);
      while ('awaited' in found)
        found = found.next({ attempt: '~probe', ...resultOf(found.awaited.name) } as CheckResult);
      return found.decision;
    },
    async operate(action: string, { id, ...data }: { id: string }) {
      const types: Readonly<Record<string, string>> = { pause: 'worker.paused', unpause: 'worker.unpaused' };
      const folded = fold(`stopgate.main.own.worker.${id}.${types[action]}`, data);
      const view = viewWorker(fleet, id, fleet.nowMs);
      const refused = view?.refused.find(({ seq }) => seq === folded);
      if (refused !== undefined) throw new AppError('entry.refused', refused.reason);
      return { seq: folded, view };
    },
    judging: (worker: string) => judgingOf(fleet, worker),
    peek: async (worker: string) => viewWorker(fleet, worker, fleet.nowMs),
  } as unknown as Service;
  return { service, entries, probes: () => probes };
}
