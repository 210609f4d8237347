/** What the tests of all agents read: workers, the entries that they published, and why each of their stops ended as it did. */
import { expect } from 'vitest';
import type { WorkerView } from '../../../../machines/index.ts';
import type { Deployment } from '../../../support/deployment.ts';
import type { AgentHome } from './run.ts';
import type { Turn } from './scripted-model.ts';

export const planPolicy = 'policies: { default: { checks: [{ plan: {} }] } }\n';
/** The turns of a model that never gets anywhere. */
export const done: Turn = { text: 'I am done.' };
/** The beginning of a block's text, which names the one step of the tests' plans. */
export const blockText = '1 of 1 plan steps remain: Write the tests';

export const viewOf = async ({ client }: Deployment, worker: string): Promise<WorkerView> =>
  (await client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;

/** All of a project's. */
export const workersIn = (at: Deployment, { project }: AgentHome): Promise<WorkerView[]> =>
  workersWhere(at, ({ cwd }) => cwd === project);

/** Sub-agents of a session, as workers. */
export const childrenOf = (at: Deployment, session: string): Promise<WorkerView[]> =>
  workersWhere(at, ({ parent }) => parent === session);

async function workersWhere({ client }: Deployment, holds: (worker: WorkerView) => boolean): Promise<WorkerView[]> {
  const { items } = (await client.ask('list.workers', { limit: 1_000 })).body as unknown as { items: WorkerView[] };
  return items.filter(holds);
}

/** The payloads of a worker's entries of one type, in order. */
export const payloadsOf = ({ client }: Deployment, worker: string, type: string): Promise<Record<string, unknown>[]> =>
  client.stored('STOPGATE_main', `stopgate.main.worker.${worker}.${type}`);

/** Why each stop was answered as it was, in order. */
export async function causesOf({ client }: Deployment, worker: string): Promise<unknown[]> {
  const decisions = await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  return decisions.map(({ cause }) => cause);
}

/** Waits for them: an answer may be a little ahead of its entry. */
export async function expectCauses(at: Deployment, worker: string, causes: readonly string[]): Promise<void> {
  await expect.poll(() => causesOf(at, worker)).toEqual(causes);
}
