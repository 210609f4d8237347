/** The scenes of the demo. Each prints what happens and checks every answer. */
import { equal, match } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Decision, TaskView, WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Requester } from '../nats/requester.ts';
import { describeAnswer } from '../terminal/text.ts';
import { guardOf, type Narrator } from './narrator.ts';
import { rules, type Stage } from './stage.ts';

type Scene = (stage: Stage, narrator: Narrator) => Promise<void>;

const answerTimeoutMs = 10_000;
const taskArrivesAfterMs = 1_000;

/** @throws AssertionError if an answer is not as expected, AppError if there is none */
export async function playAll(
  stage: Stage,
  narrator: Narrator,
  asTyped: (text: string) => string = String,
): Promise<void> {
  await narrator.plain(
    'stopgate decides whether a coding agent may stop. Eight agents try, over plain NATS.',
    'The service, its log and the NATS server are real, in a temporary folder. The policies:',
    '',
    ...rules.trimEnd().split('\n'),
  );
  const scenes = [
    planFirst,
    worthWaiting,
    threeTimes,
    askPerson,
    cannotRun,
    runaway,
    gamedTest,
    waitForCi,
    lastWeek,
    receipt,
  ];
  for (const play of scenes) await play(stage, narrator);
  await narrator.plain(
    '',
    'Every answer was as expected. Nothing remains on your machine. Next:',
    '',
    asTyped('  stopgate up          connects your own agent, and "stopgate down" undoes that'),
    asTyped('  stopgate backtest    judges what your agents did last week'),
  );
}

const planFirst: Scene = async ({ agents }, narrator) => {
  await narrator.heading('1. Work remains, so the stop is blocked');
  await agents.publish('worker.ana.plan.updated', planOf('completed', 'in_progress', 'pending'));
  await narrator.say('ana', 'plans: [x] Read the code  [ ] Write tests  [ ] Fix lint');
  await narrator.say('ana', 'wants to stop');
  await narrator.decision(await decide(agents, 'ana', {}, 'block · continue · incomplete', 'checks'));
  await agents.publish('worker.ana.tool.used', { tool: 'Edit', ok: true, files: ['test/login.test.ts'] });
  await agents.publish('worker.ana.plan.updated', planOf('completed', 'completed', 'completed'));
  await narrator.say('ana', 'works: [x] Read the code  [x] Write tests  [x] Fix lint');
  await narrator.say('ana', 'wants to stop');
  await narrator.decision(await decide(agents, 'ana', {}, 'allow · complete · complete', 'done'));
};

const worthWaiting: Scene = async ({ agents }, narrator) => {
  await narrator.heading('2. No task is waiting, so the stop is held until one arrives');
  await agents.publish('worker.bob.worker.registered', { policy: 'helper' });
  await narrator.say('bob', 'is new, has no task, and wants to stop');
  // Awaited below, where a failure is reported.
  const answer = decide(agents, 'bob', {}, 'block · continue · pending-tasks', 'pending');
  answer.catch(() => undefined);
  await waitFor('what bob waits for', 'hold', async () => (await viewWorker(agents, 'bob')).attempt?.waitsFor);
  await narrator.say('stopgate', 'holds the stop: no answer yet, and no model turn is spent');
  await narrator.pause(taskArrivesAfterMs);
  await agents.publish('task.T-1.task.created', { title: 'Fix the login' });
  await narrator.say('you', 'put a task into the queue: T-1, Fix the login');
  await narrator.decision(await answer);
  await agents.publish('worker.bob.task.claimed', { task: 'T-1' });
  equal((await viewTask(agents, 'T-1')).worker, 'bob', 'T-1 is not held by bob');
  await narrator.say('bob', 'claims T-1 and completes it');
  await agents.publish('worker.bob.task.completed', { task: 'T-1' });
  equal((await viewTask(agents, 'T-1')).outcome, 'completed', 'T-1 is not completed');
};

const threeTimes: Scene = async ({ agents }, narrator) => {
  await narrator.heading('3. An agent that keeps stopping may stop at the cap, but is not complete');
  await agents.publish('worker.cleo.plan.updated', { steps: [{ title: 'Update the docs', status: 'pending' }] });
  await narrator.say('cleo', 'plans: [ ] Update the docs, and only tries to stop');
  for (const count of [1, 2, 3]) {
    const decision = await decide(agents, 'cleo', {}, 'block · continue · incomplete', 'checks');
    equal(decision.retry.count, count, `cleo's stop was counted as ${decision.retry.count}, not ${count}`);
    await narrator.decision(decision, count > 1 ? 'again' : undefined);
  }
  await narrator.decision(await decide(agents, 'cleo', {}, 'allow · complete · capped', 'retries'));
  await narrator.say('you', `ask whether the work is complete: ${await verify(agents, 'cleo')}`);
};

const askPerson: Scene = async ({ agents, operator }, narrator) => {
  await narrator.heading('4. A question for a person is an escalation until somebody answers it');
  await agents.publish('worker.dan.worker.registered', { policy: 'careful' });
  await agents.publish('worker.dan.task.claimed', { task: 'T-2' });
  await narrator.say('dan', 'in task T-2: Which database? <promise>ESCALATE</promise>');
  const output = 'Which database? <promise>ESCALATE</promise>';
  await narrator.decision(await decide(agents, 'dan', { output }, 'allow · escalate · escalated', 'promise'));
  equal((await viewTask(agents, 'T-2')).state, 'escalated', 'T-2 is not escalated');
  await narrator.say('dan', 'wants to stop again');
  await narrator.decision(await decide(agents, 'dan', {}, 'allow · escalate · escalated', 'escalated'));
  const verdict = { by: 'you', verdict: 'resume', prompt: 'Use the existing one.' };
  await operator.publish('own.worker.dan.escalation.resolved', verdict);
  equal((await viewWorker(agents, 'dan')).state, 'idle', 'dan is not idle');
  await narrator.say('you', "resolve it, with the operator's credentials: dan may continue");
};

const cannotRun: Scene = async ({ agents, page, cli }, narrator) => {
  await narrator.heading('5. A check that cannot run does not pass: the stop is allowed, but not judged');
  await agents.publish('worker.eve.worker.registered', { policy: 'tested' });
  await agents.publish('worker.eve.task.claimed', { task: 'T-3' });
  await narrator.say('eve', 'in task T-3 wants to stop, and the test runner is not installed');
  const hook = await post(`${page}/hooks/claude`, { session_id: 'eve', hook_event_name: 'Stop' });
  const { systemMessage } = hook as { systemMessage?: string };
  match(systemMessage ?? '', /not judged \(cause unjudged\).*no-such-test-runner/, 'the hook does not say why');
  await narrator.say('hook', systemMessage ?? '');
  const decision = (await post(`${page}/api/main/decide/eve`, {})) as Decision;
  equal(`${describeAnswer(decision)}, guard ${guardOf(decision)}`, 'allow · continue · unjudged, guard done');
  await narrator.say('HTTP', 'answers the next stop:');
  await narrator.decision(decision);
  const probed = await cli('probe', 'eve');
  match(probed.text, /^allow · continue · unjudged/, 'the command line does not say that nothing was judged');
  await narrator.say('CLI', `stopgate probe eve: ${probed.text.split('\n')[0]}`);
  equal((await cli('verify', 'eve')).code, 1, 'stopgate verify eve does not fail');
  await narrator.say('verify', await verify(agents, 'eve'));
  equal((await viewTask(agents, 'T-3')).state, 'working', 'T-3 is no longer held');
  await narrator.say('you', 'still see T-3 as open: only judged work is complete');
};

const runaway: Scene = async ({ agents, operator, page, cli }, narrator) => {
  await narrator.heading('6. A runaway is stopped at its budget, and a person is asked');
  await agents.publish('worker.fay.worker.registered', { policy: 'thrifty', agent: 'claude' });
  await agents.publish('worker.fay.plan.updated', { steps: [{ title: 'Find the leak', status: 'pending' }] });
  await narrator.say('fay', 'plans: [ ] Find the leak, and spends 2 dollars a turn, all night');
  const spendMore = () => agents.publish('worker.fay.usage.reported', { usd: 2, output: 40_000, model: 'large' });
  for (const turn of [1, 2]) {
    await spendMore();
    const blocked = await decide(agents, 'fay', {}, 'block · continue · incomplete', 'checks');
    await narrator.decision(blocked, turn > 1 ? 'again' : undefined);
  }
  await spendMore();
  const tool = { session_id: 'fay', hook_event_name: 'PostToolBatch' };
  const told = (await post(`${page}/hooks/claude`, tool)) as { continue?: boolean; stopReason?: string } | null;
  equal(told?.continue, false, 'the hook does not tell fay to stop');
  await narrator.say('hook', `at the end of her tool: ${told?.stopReason}`);
  const { lastDecision } = await viewWorker(agents, 'fay');
  if (lastDecision !== null) await narrator.decision(lastDecision);
  equal(lastDecision && describeAnswer(lastDecision), 'allow · escalate · budget', 'fay is not stopped by her budget');
  const { text } = await cli('spend', '--by', 'worker');
  const [, usd, tokens] = /^fay +(\d+\.\d+) +([\d,]+) /m.exec(text) ?? [];
  equal(usd, '6.00', 'stopgate spend does not know what fay has used');
  await narrator.say('CLI', `stopgate spend --by worker: fay has used ${usd} dollars and ${tokens} tokens`);
  await operator.publish('own.worker.fay.escalation.resolved', { by: 'you', verdict: 'resume' });
  await decide(agents, 'fay', {}, 'block · continue · incomplete', 'checks');
  await narrator.say('you', 'grant another five dollars: fay is judged by her plan again');
};

const gamedTest: Scene = async ({ agents, folder }, narrator) => {
  await narrator.heading('7. A test that is edited until it passes is refused');
  if (!(await hasGit())) return narrator.say('gil', 'is skipped, because git is not installed');
  const repository = join(folder, 'repository');
  const write = (file: string, text: string) => writeFile(join(repository, file), text);
  const test = (sum: number) => `import { sum } from '../sum.mjs';\nprocess.exitCode = sum(1, 2) === ${sum} ? 0 : 1;\n`;
  await mkdir(join(repository, 'test'), { recursive: true });
  await write('sum.mjs', 'export const sum = (a, b) => a - b;\n');
  await write('test/sum.mjs', test(3));
  await commitAll(repository);
  await agents.publish('worker.gil.worker.registered', { policy: 'honest', cwd: repository });
  await narrator.say('gil', 'must make test/sum.mjs pass, in a git repository, and edits the test: 1 + 2 is -1');
  await write('test/sum.mjs', test(-1));
  await narrator.decision(await decide(agents, 'gil', {}, 'block · continue · incomplete', 'checks'));
  await write('test/sum.mjs', test(3));
  await narrator.say('gil', 'puts the test back');
  await narrator.decision(await decide(agents, 'gil', {}, 'block · continue · incomplete', 'checks'));
  await write('sum.mjs', 'export const sum = (a, b) => a + b;\n');
  await narrator.say('gil', 'fixes sum.mjs');
  await narrator.decision(await decide(agents, 'gil', {}, 'allow · complete · complete', 'done'));
};

const waitForCi: Scene = async ({ agents, serveCheck }, narrator) => {
  await narrator.heading('8. The stop waits until the pipeline is green');
  const jobs = ['1 of 3 jobs has passed', '2 of 3 jobs have passed'];
  const asked: number[] = [];
  await serveCheck('ci', () => {
    const reason = jobs[asked.length];
    asked.push(performance.now());
    return reason === undefined
      ? { complete: true, reason: 'CI is green' }
      : { pending: true, reason, retryAfterMs: 1_000 };
  });
  await agents.publish('worker.hal.worker.registered', { policy: 'shipped' });
  await narrator.say('hal', 'has pushed, and wants to stop while CI is running');
  const answer = decide(agents, 'hal', {}, 'allow · complete · complete', 'done');
  answer.catch(() => undefined);
  for (const reason of jobs) {
    await waitFor('what hal waits for', reason, async () => (await viewWorker(agents, 'hal')).attempt?.pending?.reason);
    await narrator.say('ci', `cannot tell yet: ${reason}`);
  }
  const decision = await answer;
  equal(asked.length, 3, `CI was asked ${asked.length} times, not 3`);
  await narrator.say('ci', 'is green');
  await narrator.decision(decision);
};

const lastWeek: Scene = async ({ folder, cli }, narrator) => {
  await narrator.heading('9. What would it have changed last week? A backtest reads what an agent already did');
  const transcripts = join(folder, 'transcripts');
  await mkdir(transcripts);
  await writeFile(join(transcripts, 'ivy.jsonl'), transcriptOfIvy());
  await narrator.say('ivy', 'worked last week, without stopgate. Claude Code has kept her transcript');
  const { code, text } = await cli('backtest', transcripts, '--json');
  equal(code, 0, 'stopgate backtest fails');
  const { summary } = JSON.parse(text) as {
    summary: {
      stops: number;
      outcomes: { allowed: number; blocked: number };
      mattered: { stop: { reason: string; next: { afterMs: number; prompt: string } | null } }[];
    };
  };
  const { stops, outcomes, mattered } = summary;
  const found = `${stops} stops: ${outcomes.blocked} blocked, ${outcomes.allowed} allowed`;
  equal(found, '2 stops: 1 blocked, 1 allowed', `stopgate backtest finds ${found}`);
  await narrator.say('CLI', `stopgate backtest: ${found}. The stop that mattered most:`);
  const { reason, next } = mattered[0]?.stop ?? { reason: '', next: null };
  equal(reason, '1 of 2 plan steps remain: Write tests', 'stopgate backtest names another reason');
  await narrator.say('CLI', reason);
  await narrator.say('CLI', `you came back after ${(next?.afterMs ?? 0) / 60_000} minutes: "${next?.prompt}"`);
};

/** A transcript of Claude Code with only the lines that a backtest reads. */
function transcriptOfIvy(): string {
  const startMs = Date.now() - 5 * 24 * 60 * 60 * 1_000;
  const lineAt = (minute: number, fields: object) => {
    const timestamp = new Date(startMs + minute * 60_000).toISOString();
    const common = { sessionId: 'ivy', uuid: `ivy-${minute}`, cwd: '/srv/shop', isSidechain: false };
    return `${JSON.stringify({ ...common, timestamp, ...fields })}\n`;
  };
  const prompt = (minute: number, content: string) => lineAt(minute, { type: 'user', message: { content } });
  const answer = (minute: number, content: object, stop_reason: string) =>
    lineAt(minute, { type: 'assistant', message: { id: `m${minute}`, content: [content], stop_reason } });
  const result = (minute: number, tool_use_id: string) =>
    lineAt(minute, { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id, content: 'ok' }] } });
  const plan = (id: string, ...statuses: string[]) => {
    const todos = ['Fix the login', 'Write tests'].map((content, index) => ({ content, status: statuses[index] }));
    return { type: 'tool_use', id, name: 'TodoWrite', input: { todos } };
  };
  return [
    prompt(0, 'Fix the login'),
    answer(1, plan('t1', 'completed', 'pending'), 'tool_use'),
    result(2, 't1'),
    answer(5, { type: 'text', text: 'The login works, and everything is tested.' }, 'end_turn'),
    prompt(47, 'You wrote no tests'),
    answer(48, plan('t2', 'completed', 'completed'), 'tool_use'),
    result(49, 't2'),
    answer(50, { type: 'text', text: 'Now it is tested.' }, 'end_turn'),
  ].join('');
}

const receipt: Scene = async ({ agents, folder, cli }, narrator) => {
  await narrator.heading('10. A receipt proves which git tree was judged complete');
  if (!(await hasGit())) return narrator.say('gil', 'is skipped, because git is not installed');
  const repository = join(folder, 'repository');
  const refused = await cli('attest', '--worker', 'gil');
  equal(refused.code, 1, 'a tree that is no commit is attested');
  await narrator.say('you', 'ask for a receipt of the work of gil: there is none, because it is not committed');
  await promisify(execFile)('git', ['add', '.'], { cwd: repository });
  await commit(repository, 'Fix sum.mjs');
  await narrator.say('gil', 'commits, and wants to stop');
  await narrator.decision(await decide(agents, 'gil', {}, 'allow · complete · complete', 'done'));
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(join(folder, 'key.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const signed = await cli('attest', '--worker', 'gil', '--key', 'key.pem');
  equal(signed.code, 0, 'there is no receipt of the work of gil');
  await writeFile(join(folder, 'receipt.json'), signed.text);
  await narrator.say('you', 'sign a receipt with a key of your own, and send it with the pull request');
  const verified = () => cli('attest', '--verify', 'receipt.json', '--key', 'key.pub', '--repo', 'repository');
  const held = await verified();
  equal(held.code, 0, `the receipt does not hold: ${held.text}`);
  await narrator.say('CI', held.text.trim());
  await writeFile(join(repository, 'sum.mjs'), 'export const sum = () => 3;\n');
  const broken = await verified();
  equal(broken.code, 1, 'the receipt holds for another tree');
  await narrator.say('CI', `after another change: ${broken.text.trim()}`);
};

const hasGit = (): Promise<boolean> =>
  promisify(execFile)('git', ['--version']).then(
    () => true,
    () => false,
  );

/** Commits all files of a folder as the first commit of a repository, independent of the user's settings. */
async function commitAll(folder: string): Promise<void> {
  await promisify(execFile)('git', ['init', '--quiet'], { cwd: folder });
  await promisify(execFile)('git', ['add', '.'], { cwd: folder });
  await commit(folder, 'Begin');
}

async function commit(folder: string, message: string): Promise<void> {
  const settings = ['-c', 'user.name=demo', '-c', 'user.email=demo@localhost', '-c', 'commit.gpgsign=false'];
  await promisify(execFile)('git', [...settings, 'commit', '--quiet', '-m', message], { cwd: folder });
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  equal(answer.status, 200, `${url} answers ${answer.status}`);
  return answer.json();
}

const planOf = (...statuses: string[]) => ({
  steps: ['Read the code', 'Write tests', 'Fix lint'].map((title, index) => ({ title, status: statuses[index] })),
});

async function decide(
  agents: Requester,
  worker: string,
  body: object,
  answer: string,
  guard: string,
): Promise<Decision> {
  const decision = (await agents.request('decide', worker, body, answerTimeoutMs)) as Decision;
  const got = `${describeAnswer(decision)}, guard ${guardOf(decision)}`;
  const wanted = `${answer}, guard ${guard}`;
  equal(got, wanted, `the stop of ${worker} got "${got}" (${decision.reason}), not "${wanted}"`);
  return decision;
}

/** Expects `verify` to fail, and returns the message of the error. */
async function verify(agents: Requester, worker: string): Promise<string> {
  const answer = await agents.request('verify', worker, {}, answerTimeoutMs).catch((error: AppError) => error);
  equal(answer instanceof AppError && answer.code, 'stop.incomplete', `the work of ${worker} passes as complete`);
  return `no: ${(answer as AppError).message}`;
}

const viewWorker = async (agents: Requester, worker: string) =>
  (await agents.request('get', `worker.${worker}`, {}, answerTimeoutMs)) as WorkerView;
const viewTask = async (agents: Requester, task: string) =>
  (await agents.request('get', `task.${task}`, {}, answerTimeoutMs)) as TaskView;

/** Polls until the value is as wanted, because entries that were just published may not be folded yet. */
async function waitFor(what: string, wanted: unknown, get: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + answerTimeoutMs;
  let got = await get();
  while (got !== wanted && performance.now() < untilMs) got = await get();
  equal(got, wanted, `${what} is "${got}", not "${wanted}"`);
}
