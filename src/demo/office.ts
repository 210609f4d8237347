/** A fleet at work for the screenshots of the inspector: some forty agents, in every state. */
import type { Requester } from '../nats/requester.ts';
import type { Stage } from './stage.ts';

export const officeRules = `policies:
  default:
    checks: [{ plan: {} }]
    retries: 3
  helper: { persistence: { idle: 10m, hold: 50s } }
  careful: { checks: [{ plan: {} }], promises: true }
  tested:
    checks: [{ plan: {} }, { command: tests, onError: block }]
    retries: 5
commands:
  tests:
    run: [node, -e, "console.log('login.test.ts: 2 of 41 tests fail'); process.exit(1)"]
    cwd: .
`;

const agents = ['claude', 'codex', 'gemini', 'opencode'];
const crews = ['api', 'web', 'docs', 'billing', 'search'];
const perCrew = 8;
const steps = ['Read the code', 'Write a failing test', 'Make it pass', 'Update the docs'];
const titles = ['Fix the login', 'Page the audit log', 'Drop Node 18', 'Cache the index', 'Explain the limits'];
const answerTimeoutMs = 10_000;

const planOf = (done: number) => ({
  steps: steps.map((title, index) => ({
    title,
    status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
  })),
});

/** Resolves when everything is published; two stops stay held. */
export async function playOffice({ agents: client, operator }: Stage): Promise<void> {
  const workers = crews.flatMap((crew) => Array.from({ length: perCrew }, (_, index) => `${crew}-${index + 1}`));
  for (const [index, worker] of workers.entries()) await introduce(client, worker, index);
  for (const [index, worker] of workers.entries()) {
    if (index % 8 === 6) continue; // still at work
    if (index % 8 === 7) {
      if (index < 16) void ask(client, worker, {}); // held: a helper without a task
      continue;
    }
    const output = index % 8 === 4 ? 'Which of the two databases? <promise>ESCALATE</promise>' : 'I am done.';
    await ask(client, worker, { output });
    if (index % 8 === 2) await ask(client, worker, { output: 'Everything is done now.' });
  }
  await operator.publish('own.worker.api-5.escalation.acknowledged', { by: 'Ann' });
  await client.publish('worker.web-2.tool.used', { tool: 'Edit', ok: true, files: ['src/login.ts'] });
  await client.publish('worker.web-2.plan.updated', planOf(4));
  await ask(client, 'web-2', { output: 'All four steps are done.' });
}

async function introduce(client: Requester, worker: string, index: number): Promise<void> {
  const kind = index % 8;
  const policy = kind === 4 ? 'careful' : kind === 7 ? 'helper' : kind === 1 ? 'tested' : 'default';
  const [crew = ''] = worker.split('-');
  const parent = worker.endsWith('-1') ? {} : { parent: `${crew}-1` };
  await client.publish(`worker.${worker}.worker.registered`, {
    agent: agents[index % agents.length],
    policy,
    ...parent,
  });
  if (kind === 7) return;
  const task = `T-${101 + index}`;
  await client.publish(`task.${task}.task.created`, {
    title: titles[index % titles.length],
    queue: crew === 'docs' ? 'docs' : 'main',
  });
  await client.publish(`worker.${worker}.task.claimed`, { task });
  await client.publish(`worker.${worker}.prompt.submitted`, { text: titles[index % titles.length] });
  await client.publish(`worker.${worker}.tool.used`, { tool: 'Read', ok: true, files: ['src/login.ts'] });
  await client.publish(`worker.${worker}.plan.updated`, planOf(kind === 0 || kind === 1 ? 4 : 1 + (index % 3)));
}

const ask = (client: Requester, worker: string, body: object) =>
  client.request('decide', worker, body, answerTimeoutMs).catch(() => undefined);
