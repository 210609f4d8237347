/** What the tests of all agents look at: the workers of a project, and why each of their stops ended as it did. */
import type { WorkerView } from '../../../machines/index.ts';
import type { Deployment } from '../../support/deployment.ts';
import type { AgentHome } from './run.ts';
import type { Turn } from './scripted-model.ts';

export const planPolicy = 'policies: { default: { checks: [{ plan: {} }] } }\n';
/** What the model of an agent that never gets anywhere says. */
export const done: Turn = { text: 'I am done.' };
/** The beginning of the words in which a block names the one step of the tests' plans. */
export const blockWords = '1 of 1 plan steps remain: Write the tests';

export async function workersIn({ project }: AgentHome, { client }: Deployment): Promise<WorkerView[]> {
  const { items } = (await client.ask('list.workers', { limit: 1_000 })).body as unknown as { items: WorkerView[] };
  return items.filter(({ cwd }) => cwd === project);
}

/** The causes of a worker's decisions, in their order. */
export async function causesOf(worker: string, { client }: Deployment): Promise<unknown[]> {
  const decisions = await client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  return decisions.map(({ cause }) => cause);
}
