/** The real Claude Code with a scripted model: sub-agents, background work, steps, structured output, escalations. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeScene, type SceneOptions } from './support/scene.ts';
import { childrenOf, expectCauses, payloadsOf, viewOf } from './support/workers.ts';

/** JSON is valid YAML. The check's result depends on a file. */
const config = JSON.stringify({
  policies: {
    default: { checks: [{ plan: {} }] },
    tests: { checks: [{ command: 'tests' }] },
    strict: { checks: [{ plan: {} }, { command: 'tests' }], stopWhenComplete: true, steps: 'gate' },
    burst: { checks: [{ command: 'tests' }], stopWhenComplete: true },
    changed: { checks: [{ rules: ['tests_pass'], when: { filesModified: true } }], retries: 0 },
    patient: { checks: [{ plan: {} }], retries: 12 },
    person: { checks: [{ plan: {} }], retries: 1, onCap: 'escalate' },
  },
  commands: { tests: { run: ['sh', '-c', 'grep -q pass state || { echo 2 red; exit 1; }'], cwd: '.' } },
});
const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
const finish = (taskId: string) => ({ tool: 'TaskUpdate', input: { taskId, status: 'completed' } });
const done = finish('1');
const childConversation = '"text":"CHILD-TASK';
const delegate = (more: object) => ({
  tool: 'Agent',
  input: { description: 'help', prompt: 'CHILD-TASK', subagent_type: 'general-purpose', ...more },
});

let claude: string;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config });
});
afterAll(() => at.close());
beforeEach(() => at.folder.write('state', 'fail'));
const mend = () => at.folder.write('state', 'pass');

const scene = (options: Omit<SceneOptions, 'program' | 'http'>) =>
  claudeScene({ ...options, program: claude, http: at.http });

describe('a sub-agent', () => {
  test('is a separate worker, blocked for its own plan', async () => {
    // A session and its sub-agents number their tasks in one list.
    const turns = [delegate({ run_in_background: false }), plan, finish('2'), { text: 'one' }];
    const stays = [
      { tool: 'TaskCreate', input: { subject: 'Look around', description: 'in src' } },
      ...['one', 'two', 'three', 'four'].map((text) => ({ text })),
    ];
    const { model, run } = await scene({ turns, conversations: [{ match: childConversation, turns: stays }] });
    const ended = await run('Write the tests.');
    expect(ended.code).toBe(0);
    expect([model.requests.length, model.conversation(childConversation).length]).toEqual([4, 5]);
    expect(model.conversation(childConversation)[2]?.input).toContain('1 of 1 plan steps remain: Look around');
    const [child, ...others] = await childrenOf(at, ended.worker);
    expect(others).toEqual([]);
    expect(child).toMatchObject({ labels: { subagent: 'general-purpose' }, plan: [{ title: 'Look around' }] });
    await expectCauses(at, child?.worker ?? '', ['incomplete', 'incomplete', 'incomplete', 'capped']);
    await expectCauses(at, ended.worker, ['complete']);
  });

  test('can complete a step of its parent', async () => {
    const turns = [plan, delegate({ run_in_background: false }), { text: 'one' }, { text: 'two' }];
    const { model, run } = await scene({
      turns,
      conversations: [{ match: childConversation, turns: [done, { text: 'done' }] }],
    });
    const ended = await run('Write the tests.');
    expect(ended.code).toBe(0);
    await expectCauses(at, ended.worker, ['complete']);
    expect([model.requests.length, model.conversation(childConversation).length]).toEqual([3, 2]);
  });

  test('is waited for while it runs in the background, and its end is not a person’s prompt', async () => {
    const turns = [plan, delegate({}), { text: 'one' }, done, { text: 'two' }];
    const slow = [{ tool: 'Bash', input: { command: 'sleep 1', description: 'wait' } }, { text: 'found' }];
    const { model, run } = await scene({ turns, conversations: [{ match: childConversation, turns: slow }] });
    const ended = await run('Write the tests.');
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":"two"') });
    expect(model.requests).toHaveLength(5);
    expect(model.requests[3]?.input).toContain('<task-notification>');
    await expectCauses(at, ended.worker, ['waiting', 'complete']);
    expect(await viewOf(at, ended.worker)).toMatchObject({ background: [] });
    expect(await payloadsOf(at, ended.worker, 'prompt.submitted')).toEqual([
      { text: 'Write the tests.' },
      { text: expect.stringContaining('<task-notification>'), by: 'system' },
    ]);
  });
});

test('a background shell is waited for, and its end does not reset the retries', async () => {
  const shell = { tool: 'Bash', input: { command: 'sleep 1', description: 'wait', run_in_background: true } };
  const turns = [plan, { text: 'one' }, shell, ...['two', 'three', 'four', 'five'].map((text) => ({ text }))];
  const { model, run } = await scene({ turns });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  await expectCauses(at, ended.worker, ['incomplete', 'waiting', 'incomplete', 'incomplete', 'capped']);
  expect(model.requests).toHaveLength(7);
  expect(await payloadsOf(at, ended.worker, 'prompt.submitted')).toMatchObject([
    { text: 'Write the tests.' },
    { by: 'system' },
  ]);
});

test('the shell command of a skill that a person typed may have changed any file', async () => {
  const skill = (command: string) =>
    `---\nname: make\ndescription: makes a file\nallowed-tools: Bash(touch:*), Bash(ls:*)\n---\nMade: !\`${command}\`\n`;
  const { home, run } = await scene({ turns: [{ text: 'one' }, { text: 'two' }], init: ['--policy', 'changed'] });
  const causes = { 'touch made.txt': 'capped', 'ls -a': 'complete' };
  for (const [command, cause] of Object.entries(causes)) {
    await home.write('project/.claude/skills/make/SKILL.md', skill(command));
    const { worker } = await run('/make');
    await expectCauses(at, worker, [cause]);
  }
});

test('an unanswered permission request is waited for until the turn is over', async () => {
  const touch = { tool: 'Bash', input: { command: 'touch here', description: 'try' } };
  const { run } = await scene({ turns: [touch, { text: 'one' }] });
  const ended = await run('Write the tests.', ['--permission-mode', 'default']);
  expect(await payloadsOf(at, ended.worker, 'input.requested')).toMatchObject([{ kind: 'permission', tool: 'Bash' }]);
  expect(await payloadsOf(at, ended.worker, 'input.received')).toHaveLength(1);
  await expectCauses(at, ended.worker, ['complete']);
});

test.each([
  [429, 'rate_limit_error', 1],
  [529, 'overloaded_error', 0],
])('a model error %i (%s) is not a stop; usage limits reached: %i', async (status, type, limits) => {
  const failed = { status, error: { type: 'error', error: { type, message: 'no more' } } };
  const { model, run } = await scene({ turns: [failed, failed], env: { CLAUDE_CODE_MAX_RETRIES: '1' } });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(1);
  expect(model.requests).toHaveLength(2);
  expect(await payloadsOf(at, ended.worker, 'limit.reached')).toHaveLength(limits);
  await expectCauses(at, ended.worker, []);
});

test('a step is not marked as done while tests fail; when all pass, the run ends without another turn', async () => {
  const turns = [plan, done, { ...done, before: mend }, { text: 'never said' }];
  const { model, run } = await scene({ turns, init: ['--policy', 'strict'] });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(3);
  expect(model.requests[2]?.input).toMatch(/TaskCompleted hook feedback:\nThe step is not marked as done\..*2 red/s);
  await expectCauses(at, ended.worker, ['complete']);
  // PostToolUse was sent nevertheless, and changed nothing.
  expect(await payloadsOf(at, ended.worker, 'tool.used')).toHaveLength(3);
  expect(await payloadsOf(at, ended.worker, 'step.updated')).toEqual([
    { step: '1', title: 'Write the tests', status: 'pending' },
    { step: '1', status: 'completed' },
  ]);
  expect(await viewOf(at, ended.worker)).toMatchObject({ state: 'stopped', plan: [{ status: 'completed' }] });
});

test('a check’s findings after a batch of tools are in the next request, once; then the run ends', async () => {
  const look = { tool: 'Bash', input: { command: 'ls', description: 'look' } };
  const turns = [look, look, { ...look, before: mend }, { text: 'never said' }];
  const { model, run } = await scene({ turns, init: ['--policy', 'burst'] });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(3);
  const told = 'stopgate has checked the work after these tools.';
  expect(model.requests[1]?.input).toMatch(new RegExp(`${told}.*2 red`, 's'));
  expect(model.requests[2]?.input).not.toContain(told);
  await expectCauses(at, ended.worker, ['complete']);
});

describe('structured output', () => {
  const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
  const asked = ['--json-schema', JSON.stringify(schema)];
  const output = (answer: string) => ({ tool: 'StructuredOutput', input: { answer } });

  test('is refused while a check fails, and the model reads what is missing', async () => {
    const turns = [output('too early'), { ...output('in time'), before: mend }];
    const { model, run } = await scene({ turns, init: ['--policy', 'tests'] });
    const ended = await run('Answer.', asked);
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"structured_output":{"answer":"in time"}'),
    });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.input).toMatch(/PreToolUse:StructuredOutput.*Command tests failed.*2 red/s);
    // The following stop is judged too.
    await expectCauses(at, ended.worker, ['incomplete', 'complete', 'complete']);
    expect((await payloadsOf(at, ended.worker, 'stop.attempted'))[0]).toMatchObject({
      stopReason: 'structured_output',
      output: '{"answer":"too early"}',
    });
  });

  test('is accepted after three refusals', async () => {
    const { model, run } = await scene({ turns: Array.from('abcdef', output), init: ['--policy', 'tests'] });
    const ended = await run('Answer.', asked);
    expect(ended.stdout).toContain('"structured_output":{"answer":"d"}');
    expect(model.requests).toHaveLength(4);
  });
});

test('Claude Code itself accepts at most eight consecutive blocks', async () => {
  const turns = [plan, ...Array.from('abcdefghijkl', (text) => ({ text }))];
  const { model, run } = await scene({ turns, init: ['--policy', 'patient'] });
  const ended = await run('Write the tests.');
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(10);
  await expectCauses(at, ended.worker, Array(9).fill('incomplete'));
});

test.each([
  ['HTTP', []],
  ['command', ['--form', 'command']],
])('a resolution reaches the model with the next prompt, with %s hooks', async (_form, form) => {
  const turns = [plan, { text: 'one' }, { text: 'two' }, done, { text: 'three' }];
  const { home, model, run } = await scene({ turns, init: ['--policy', 'person', ...form] });
  const { worker } = await run('Write the tests.');
  await expectCauses(at, worker, ['incomplete', 'capped']);
  expect((await viewOf(at, worker)).escalation).not.toBeNull();
  const words = ['resolve', worker, '--resume', '--prompt', 'Use the other parser.', '--yes', '--nats', at.server.url];
  expect(await runShipped(words, { cwd: home.project })).toMatchObject({ code: 0 });
  expect(await run('Go on.', ['--resume', worker])).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(5);
  expect(model.requests[3]?.input).toContain('says: Use the other parser.');
  await expectCauses(at, worker, ['incomplete', 'capped', 'complete']);
});
