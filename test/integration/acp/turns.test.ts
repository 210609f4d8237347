/** `stopgate acp` between an editor and an agent of the official SDK, with a real service: how turns end. */
import { methods } from '@agentclientprotocol/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcpScene, done, open, openAcpScene, unfinished, wordsIn } from './scene.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

test('a blocked agent is prompted again within the turn, and the editor sees who wrote each message', async () => {
  const editor = await scene.open(unfinished);
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  const [first, second] = await editor.promptsOf(session);
  expect(first).toBe('Do the task.');
  expect(second).toContain('1 of 2 plan steps remain: Fix lint');
  const ours = expect.stringMatching(/^stopgate: this stop was blocked \(1 of 3\): 1 of 2 plan steps remain: Fix lint/);
  expect(wordsIn(editor, session)).toEqual(['I am done.', ours, 'Now I am.']);
  await scene.causesOf(session).toEqual(['incomplete', 'complete']);
  expect(await scene.viewOf(session)).toMatchObject({ state: 'stopped', agent: 'scripted-agent' });
});

test('the requested policy applies to its sessions, and the turn ends at the cap', async () => {
  const editor = await scene.open([[open]], { args: ['--policy', 'once'] });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  expect(await editor.promptsOf(session)).toHaveLength(2);
  await scene.causesOf(session).toEqual(['incomplete', 'capped']);
  expect(await scene.viewOf(session)).toMatchObject({ policy: 'once', cwd: scene.at.folder.path });
});

test('a policy that does not exist is reported on stderr', async () => {
  const editor = await scene.open([], { args: ['--policy', 'oncee'] });
  const session = await editor.newSession();
  await editor.command.printed(`policy default applies to ${session}, not oncee`);
});

test('a prompt of a person resets the retries, and ours does not', async () => {
  const editor = await scene.open([[open]], { args: ['--policy', 'once'] });
  const session = await editor.newSession();
  await editor.prompt(session);
  await editor.prompt(session, 'Try again.');
  await scene.causesOf(session).toEqual(['incomplete', 'capped', 'incomplete', 'capped']);
  expect(await scene.stored(session, 'prompt.submitted')).toEqual([{ text: 'Do the task.' }, { text: 'Try again.' }]);
});

test('a cancellation reaches an agent that we have prompted, and it is not prompted again', async () => {
  const editor = await scene.open([[open], [{ say: 'Working.' }, { untilCancelled: true }]]);
  const session = await editor.newSession();
  const turn = editor.prompt(session);
  await expect.poll(() => editor.saidIn(session)).toContain('Working.');
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(await editor.promptsOf(session)).toHaveLength(2);
  await scene.causesOf(session).toEqual(['incomplete', 'incomplete']);
  const stops = await scene.stored(session, 'stop.attempted');
  expect(stops.map(({ stopReason }) => stopReason)).toEqual(['end_turn', 'cancelled']);
});

test('a cancelled request is cancelled at the agent under the id that the agent has', async () => {
  const editor = await scene.open([[open], [{ say: 'Working.' }, { untilCancelled: true }]]);
  const session = await editor.newSession();
  const cancel = new AbortController();
  const prompt = [{ type: 'text' as const, text: 'Do the task.' }];
  const turn = editor.agent
    .request(methods.agent.session.prompt, { sessionId: session, prompt }, { cancellationSignal: cancel.signal })
    .catch((error: { code: number }) => error.code);
  await expect.poll(() => editor.saidIn(session)).toContain('Working.');
  cancel.abort();
  expect(await turn).toBe(-32800);
});

test('a cancellation ends an open stop attempt at once', async () => {
  const editor = await scene.open([[{ say: 'Done.' }]], { args: ['--policy', 'held'] });
  const session = await editor.newSession();
  const turn = editor.prompt(session);
  await expect.poll(async () => (await scene.viewOf(session)).state).toBe('validating');
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(await editor.promptsOf(session)).toHaveLength(1);
});

test('a prompt during an open stop attempt replaces it', async () => {
  const editor = await scene.open([[{ say: 'Done.' }]], { args: ['--policy', 'held'] });
  const session = await editor.newSession();
  const first = editor.prompt(session);
  await expect.poll(async () => (await scene.viewOf(session)).state).toBe('validating');
  const second = editor.prompt(session, 'Something else.');
  expect(await first).toEqual({ stopReason: 'end_turn' });
  await expect.poll(() => scene.stored(session, 'stop.attempted')).toHaveLength(2);
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
  expect(await second).toEqual({ stopReason: 'cancelled' });
});

test('other stop reasons are judged too, under their own names', async () => {
  const turns = [
    [open, { stop: 'max_tokens' }],
    [open, { stop: 'max_turn_requests' }],
    [open, { stop: 'refusal' }],
    [done],
  ];
  const editor = await scene.open(turns);
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  const stops = await scene.stored(session, 'stop.attempted');
  const reasons = ['max_tokens', 'max_turn_requests', 'refusal', 'end_turn'];
  expect(stops.map(({ stopReason }) => stopReason)).toEqual(reasons);
});

test('a policy may allow some of them', async () => {
  const editor = await scene.open([[open, { stop: 'max_tokens' }]], { args: ['--policy', 'patient'] });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'max_tokens' });
  await scene.causesOf(session).toEqual(['bypassed']);
});

test('an escalation ends the turn, and the person learns how to continue', async () => {
  const script = { turns: [[{ say: 'I need a key. ' }, { say: '<promise>BLOCKED</promise>' }]] };
  const editor = await scene.openAlone(script, { args: ['--policy', 'people'] });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  const ours = wordsIn(editor, session).at(-1);
  expect(ours).toMatch(/^stopgate: this session waits for a person: /);
  expect(ours).toContain(`stopgate resolve ${session}`);
  await scene.causesOf(session).toEqual(['escalated']);
  // It is still there for that person when the editor is closed.
  await editor.leave();
  expect(await scene.viewOf(session)).toMatchObject({ state: 'escalated' });
});

test('two concurrent sessions are two workers, each with its own turn', async () => {
  const editor = await scene.open([[open, { ask: 'rm -rf build' }], [done]]);
  const [one, two] = [await editor.newSession(), await editor.newSession()];
  const ended = await Promise.all([editor.prompt(one, 'First.'), editor.prompt(two, 'Second.')]);
  expect(ended).toEqual([{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }]);
  for (const [session, text] of [
    [one, 'First.'],
    [two, 'Second.'],
  ] as const) {
    await scene.causesOf(session).toEqual(['incomplete', 'complete']);
    expect(await editor.promptsOf(session)).toEqual([text, expect.stringContaining('Fix lint')]);
  }
});

test('an error of the agent ends the turn unchanged, and a usage limit limits the worker', async () => {
  const fail = { code: -32603, message: 'Too many requests', data: { statusCode: 429 } };
  const editor = await scene.open([[{ fail }], [{ say: 'Better.' }]]);
  const session = await editor.newSession();
  await expect(editor.prompt(session)).rejects.toMatchObject(fail);
  await expect.poll(async () => (await scene.viewOf(session)).presence).toBe('limited');
  expect(await editor.prompt(session, 'And now?')).toEqual({ stopReason: 'end_turn' });
  await scene.causesOf(session).toEqual(['complete']);
});

test('a person’s command is answered in place, and the agent does not get it', async () => {
  const editor = await scene.open(unfinished);
  const session = await editor.newSession();
  expect(await editor.prompt(session, '/stopgate off')).toEqual({ stopReason: 'end_turn' });
  expect(wordsIn(editor, session)).toEqual([expect.stringMatching(/^stopgate: this session's stops are not judged/)]);
  expect(await scene.viewOf(session)).toMatchObject({ paused: { until: null } });
  await editor.prompt(session);
  await scene.causesOf(session).toEqual(['bypassed']);
  expect(await editor.promptsOf(session)).toEqual(['Do the task.']);
});
