/** Reads workers, their entries and the causes of their decisions, for the tests of all agents. */
import { expect } from 'vitest';
import type { WorkerView } from '../../../../machines/index.ts';
import type { Deployment } from '../../../support/deployment.ts';
import type { AgentHome } from './run.ts';
import type { Turn } from './scripted-model.ts';

export const planPolicy = 'policies: { default: { checks: [{ plan: {} }] } }\n';
/** The turns of a model that makes no progress. */
export const done: Turn = { text: 'I am done.' };
/** The beginning of a block's text, which names the only step of the tests' plans. */
export const blockText = '1 of 1 plan steps remain: Write the tests';

export const viewOf = async ({ client }: Deployment, worker: string): Promise<WorkerView> =>
  (await client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;

/** All workers of a project. */
export const workersIn = (at: Deployment, { project }: AgentHome): Promise<WorkerView[]> =>
  workersWhere(at, ({ cwd }) => cwd === project);

/** The workers that are sub-agents of a session. */
export const childrenOf = (at: Deployment, session: string): Promise<WorkerView[]> =>
  workersWhere(at, ({ parent }) => parent === session);

async function workersWhere({ client }: Deployment, holds: (worker: WorkerView) => boolean): Promise<WorkerView[]> {
  const { items } = (await client.ask('list.workers', { limit: 1_000 })).body as unknown as { items: WorkerView[] };
  return items.filter(holds);
}

/** The payloads of a worker's entries of one type, in order. */
export const payloadsOf = ({ client }: Deployment, worker: string, type: string): Promise<Record<string, unknown>[]> =>
  client.stored('STOPGATE_main', `stopgate.main.worker.${worker}.${type}`);

/** The causes of a worker's decisions, in order. */
export async function causesOf({ client }: Deployment, worker: string): Promise<unknown[]> {
  const decisions = await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  return decisions.map(({ cause }) => cause);
}

/** Waits for the causes, because an answer may arrive slightly before its entry. */
export async function expectCauses(at: Deployment, worker: string, causes: readonly string[]): Promise<void> {
  await expect.poll(() => causesOf(at, worker)).toEqual(causes);
}
