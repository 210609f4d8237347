/** The demo's four scenes. Each tells what happens, and holds every answer against what it must be. */
import { equal } from 'node:assert/strict';
import type { Decision, TaskView, WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Requester } from '../nats/requester.ts';
import { describeAnswer } from '../terminal/answer.ts';
import { guardOf, type Narrator } from './narrator.ts';
import { rules, type Stage } from './stage.ts';

type Scene = (stage: Stage, narrator: Narrator) => Promise<void>;

const answerTimeoutMs = 10_000;
const taskArrivesAfterMs = 1_000;

/** @throws AssertionError: an answer is not what it must be; AppError: there is none */
export async function playAll(stage: Stage, narrator: Narrator): Promise<void> {
  await narrator.plain(
    'stopgate decides whether a coding agent may stop. Four of them try, over plain',
    'NATS; service, log and NATS server are real, in a temporary folder. The rules:',
    '',
    ...rules.trimEnd().split('\n'),
  );
  for (const play of [planFirst, worthWaiting, threeTimes, askPerson]) await play(stage, narrator);
  await narrator.plain(
    '',
    'Every answer was as it must be. Nothing of this is left on your machine. Next:',
    '',
    '  npm start    the same service for agents of yours; it prints what to try',
    '  README.md    the rules, Claude Code, and how to ask from any language',
  );
}

const planFirst: Scene = async ({ agents }, narrator) => {
  await narrator.heading('1. Work remains, so the stop is blocked');
  await agents.publish('worker.ana.plan.updated', planOf('completed', 'in_progress', 'pending'));
  await narrator.say('ana', 'plans: [x] Read the code  [ ] Write tests  [ ] Fix lint');
  await narrator.say('ana', 'wants to stop');
  await narrator.decision(await ask(agents, 'ana', {}, 'block · continue · incomplete', 'checks'));
  await agents.publish('worker.ana.tool.used', { tool: 'Edit', ok: true, files: ['test/login.test.ts'] });
  await agents.publish('worker.ana.plan.updated', planOf('completed', 'completed', 'completed'));
  await narrator.say('ana', 'works: [x] Read the code  [x] Write tests  [x] Fix lint');
  await narrator.say('ana', 'wants to stop');
  await narrator.decision(await ask(agents, 'ana', {}, 'allow · complete · complete', 'done'));
};

const worthWaiting: Scene = async ({ agents }, narrator) => {
  await narrator.heading('2. Nothing to do yet, so the stop is held until a task arrives');
  await agents.publish('worker.bob.worker.registered', { policy: 'helper' });
  await narrator.say('bob', 'is new, has no task, and wants to stop');
  // Awaited further down: meanwhile it may only fail, and that is told there.
  const asked = ask(agents, 'bob', {}, 'block · continue · pending-tasks', 'pending');
  asked.catch(() => undefined);
  await becomes('what bob waits for', 'hold', async () => (await look(agents, 'bob')).attempt?.waitsFor);
  await narrator.say('stopgate', 'holds the stop open: no answer yet, and no model turn is spent');
  await narrator.pause(taskArrivesAfterMs);
  await agents.publish('task.T-1.task.created', { title: 'Fix the login' });
  await narrator.say('you', 'put a task into the queue: T-1, Fix the login');
  await narrator.decision(await asked);
  await agents.publish('worker.bob.task.claimed', { task: 'T-1' });
  equal((await lookAtTask(agents, 'T-1')).worker, 'bob', 'T-1 is not held by bob');
  await narrator.say('bob', 'claims T-1 and completes it');
  await agents.publish('worker.bob.task.completed', { task: 'T-1' });
  equal((await lookAtTask(agents, 'T-1')).outcome, 'completed', 'T-1 is not completed');
};

const threeTimes: Scene = async ({ agents }, narrator) => {
  await narrator.heading('3. An agent that does not listen is let go at the cap; that is not done');
  await agents.publish('worker.cleo.plan.updated', { steps: [{ title: 'Update the docs', status: 'pending' }] });
  await narrator.say('cleo', 'plans: [ ] Update the docs  and does nothing but stop');
  for (const count of [1, 2, 3]) {
    const decision = await ask(agents, 'cleo', {}, 'block · continue · incomplete', 'checks');
    equal(decision.retry.count, count, `cleo's stop was counted as ${decision.retry.count}, not ${count}`);
    await narrator.decision(decision, count > 1 ? 'again' : undefined);
  }
  await narrator.decision(await ask(agents, 'cleo', {}, 'allow · complete · capped', 'retries'));
  await narrator.say('you', `ask if it is complete: ${await verify(agents, 'cleo')}`);
};

const askPerson: Scene = async ({ agents, operator }, narrator) => {
  await narrator.heading('4. A question for a person is an escalation, and stays one until it is answered');
  await agents.publish('worker.dan.worker.registered', { policy: 'careful' });
  await agents.publish('worker.dan.task.claimed', { task: 'T-2' });
  await narrator.say('dan', 'in task T-2: Which database? <promise>ESCALATE</promise>');
  const output = 'Which database? <promise>ESCALATE</promise>';
  await narrator.decision(await ask(agents, 'dan', { output }, 'allow · escalate · escalated', 'promise'));
  equal((await lookAtTask(agents, 'T-2')).state, 'escalated', 'T-2 is not escalated');
  await narrator.say('dan', 'wants to stop once more');
  await narrator.decision(await ask(agents, 'dan', {}, 'allow · escalate · escalated', 'escalated'));
  const verdict = { by: 'you', verdict: 'resume', prompt: 'Take the one that is there.' };
  await operator.publish('own.worker.dan.escalation.resolved', verdict);
  equal((await look(agents, 'dan')).state, 'idle', 'dan is not idle');
  await narrator.say('you', "resolve it, with the operator's credentials: dan may go on");
};

const planOf = (...statuses: string[]) => ({
  steps: ['Read the code', 'Write tests', 'Fix lint'].map((title, index) => ({ title, status: statuses[index] })),
});

async function ask(agents: Requester, worker: string, body: object, answer: string, guard: string): Promise<Decision> {
  const decision = (await agents.request('decide', worker, body, answerTimeoutMs)) as Decision;
  const got = `${describeAnswer(decision)}, guard ${guardOf(decision)}`;
  const wanted = `${answer}, guard ${guard}`;
  equal(got, wanted, `the stop of ${worker} got "${got}" (${decision.reason}); it must get "${wanted}"`);
  return decision;
}

/** The words of the error that must come. */
async function verify(agents: Requester, worker: string): Promise<string> {
  const answer = await agents.request('verify', worker, {}, answerTimeoutMs).catch((error: AppError) => error);
  equal(answer instanceof AppError && answer.code, 'stop.incomplete', `the work of ${worker} passes as complete`);
  return `no, ${(answer as AppError).message}`;
}

const look = async (agents: Requester, worker: string) =>
  (await agents.request('get', `worker.${worker}`, {}, answerTimeoutMs)) as WorkerView;
const lookAtTask = async (agents: Requester, task: string) =>
  (await agents.request('get', `task.${task}`, {}, answerTimeoutMs)) as TaskView;

/** Asks until it is so: what was sent without waiting may not have been folded yet. */
async function becomes(what: string, wanted: unknown, get: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + answerTimeoutMs;
  let got = await get();
  while (got !== wanted && performance.now() < untilMs) got = await get();
  equal(got, wanted, `${what} is "${got}"; it must be "${wanted}"`);
}
