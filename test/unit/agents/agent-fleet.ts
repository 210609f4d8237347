/**
 * A fleet in memory behind the real hook call handler: agents' calls go through their adapters into the real fold, and what
 * the guards decide comes back as the agent reads it. Checks that need the world are left to e2e tests.
 */
import {
  createFleet,
  type Decision,
  foldEntry,
  payloadBytesMax,
  probe,
  readFields,
  readSubject,
  viewWorker,
  type WorkerView,
} from '../../../machines/index.ts';
import { agents } from '../../../src/agents/index.ts';
import { createHookCallHandler } from '../../../src/agents/shared/hook-call-handler.ts';
import { AppError } from '../../../src/errors.ts';
import type { NewEntry } from '../../../src/service/publish.ts';
import type { Service } from '../../../src/service/service.ts';

export type AgentFleet = {
  /** One hook call, posted as `/hooks/<agent>?event=<event>`: what the agent is answered. */
  call(agent: string, body: object, event?: string): Promise<object | null>;
  view(worker: string): WorkerView;
  workers(): string[];
  /** What was stored, in order. */
  readonly entries: NewEntry[];
  /** Causes of the worker's decisions, in order. */
  causes(worker: string): string[];
  /** A person's word about an escalated worker. */
  resolve(worker: string, prompt: string): void;
  /** How often something was probed. */
  probes(): number;
  /** Milliseconds from here on, for the clock of the edge. */
  wait(ms: number): void;
};

export function createAgentFleet(policy: object, more: Record<string, unknown> = {}): AgentFleet {
  const fleet = createFleet('main');
  const entries: NewEntry[] = [];
  const decisions: Decision[] = [];
  const messageIds = new Set<string>();
  let seq = 0;
  let probes = 0;
  let edgeMs = 0;
  const fold = (subject: string, data: object) => {
    const address = readSubject(subject);
    if (address === null || 'code' in address) throw new Error(`no subject: ${subject}`);
    // As it would be stored: what is lost in JSON is lost here.
    const text = JSON.stringify(data);
    if (Buffer.byteLength(text) > payloadBytesMax) throw new AppError('entry.large', subject);
    const entry = readFields(address, JSON.parse(text));
    if ('code' in entry) throw new AppError('input.bad', `${subject}: ${entry.message}`);
    seq += 1;
    for (const outcome of foldEntry(fleet, { seq, atMs: 1_000 * seq, entry }))
      if (outcome.kind === 'decided') decisions.push(outcome.decision);
    return seq;
  };
  fold('stopgate.main.own.fleet.main.policy.set', { policies: { default: policy }, ...more });

  const service = {
    async publish(entry: NewEntry) {
      const { entity, id, type, data, messageId } = entry;
      if (messageId !== undefined && messageIds.has(messageId)) return { seq };
      if (messageId !== undefined) messageIds.add(messageId);
      entries.push(entry);
      return { seq: fold(`stopgate.main.${entity}.${id}.${type}`, data) };
    },
    async decide(worker: string, body: object) {
      fold(`stopgate.main.worker.${worker}.stop.attempted`, body);
      const decided = decisions.findLast((it) => it.worker === worker);
      if (decided === undefined) throw new Error('the attempt is still open');
      return decided;
    },
    async probe(worker: string, body: object, scope?: 'stop' | 'step') {
      probes += 1;
      const found = probe(fleet, worker, body, fleet.nowMs, scope);
      if ('pending' in found) throw new Error('this fleet asks nobody');
      return found.decision;
    },
    peek: async (worker: string) => viewWorker(fleet, worker, fleet.nowMs),
  } as unknown as Service;
  const handle = createHookCallHandler(service, () => edgeMs);
  return {
    async call(agent, body, event) {
      const read = agents.get(agent)?.readHook;
      if (read === undefined) throw new Error(`no adapter ${agent}`);
      return handle(read(body, event));
    },
    view(worker) {
      const view = viewWorker(fleet, worker, fleet.nowMs);
      if (view === null) throw new Error(`no worker ${worker}`);
      return view;
    },
    workers: () => [...fleet.workers.keys()],
    entries,
    causes: (worker) => decisions.filter((it) => it.worker === worker).map(({ cause }) => cause),
    resolve(worker, prompt) {
      fold(`stopgate.main.own.worker.${worker}.escalation.resolved`, { by: 'me', verdict: 'resume', prompt });
    },
    probes: () => probes,
    wait: (ms) => {
      edgeMs += ms;
    },
  };
}
