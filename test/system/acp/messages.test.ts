/** Messages that pass through `stopgate acp`, and the entries that they cause. */
import { methods } from '@agentclientprotocol/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcpScene, done, open, openAcpScene, wordsIn } from '../../integration/acp/scene.ts';
import { chosen } from '../../support/acp-editor.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

test('unknown requests pass in both directions with all fields', async () => {
  const editor = await scene.open([
    [{ read: 'a.txt' }, { update: { sessionUpdate: 'notice', severity: 'info', title: 'hi', _meta: { x: 1 } } }],
  ]);
  const sent = { big: '9007199254740993', _meta: { trace: 'abc' }, nested: { list: [1, null, 'ü'] } };
  expect(await editor.agent.request('_echo', sent)).toEqual(sent);
  const session = await editor.newSession();
  await editor.prompt(session);
  expect(wordsIn(editor, session)).toEqual(['read: of a.txt']);
  expect(editor.updatesOf(session)).toContainEqual({
    sessionUpdate: 'notice',
    severity: 'info',
    title: 'hi',
    _meta: { x: 1 },
  });
});

test('a newer protocol version is answered with the supported one', async () => {
  const editor = await scene.openAlone({});
  const answer = await editor.agent.request(methods.agent.initialize, { protocolVersion: 3 });
  expect(answer).toMatchObject({ protocolVersion: 2, agentCapabilities: { _meta: { theirs: true } } });
});

test('tools and files, plan, mode and usage are logged', async () => {
  const mode = { update: { sessionUpdate: 'current_mode_update', currentModeId: 'plan' } };
  const cost = (amount: number) => ({
    update: { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount, currency: 'USD' } },
  });
  const usage = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 3, totalTokens: 123 };
  const editor = await scene.open([
    [
      { edit: `${scene.at.folder.path}/src/a.ts` },
      open,
      mode,
      cost(0.5),
      cost(0.75),
      done,
      { stop: 'end_turn', usage },
    ],
  ]);
  const session = await editor.newSession();
  await editor.prompt(session);
  await scene.causesOf(session).toEqual(['complete']);
  const stored = (type: string) => scene.stored(session, type);
  expect(await stored('worker.registered')).toMatchObject([{ labels: { via: 'acp', mode: 'code' } }]);
  expect(await stored('tool.started')).toEqual([{ tool: 'edit', call: 'call-1-0' }]);
  expect(await stored('tool.used')).toEqual([{ tool: 'edit', ok: true, call: 'call-1-0', files: ['src/a.ts'] }]);
  expect(await stored('plan.updated')).toHaveLength(2);
  expect(await stored('heartbeat.sent')).toEqual([{ mode: 'plan' }]);
  const source = 'acp';
  const tokens = { input: 100, output: 20, cacheRead: 3, source };
  expect(await stored('usage.reported')).toEqual([{ usd: 0.5, source }, { usd: 0.25, source }, tokens]);
  expect(await stored('stop.attempted')).toMatchObject([{ toolCount: 1 }]);
  expect(await scene.viewOf(session)).toMatchObject({
    plan: [{ title: 'Write tests', status: 'completed' }, { title: 'Fix lint' }],
  });
});

test('a huge diff passes, and its file is logged', async () => {
  const length = 5_000_000;
  const editor = await scene.open([[{ edit: 'big.json', length }]]);
  const session = await editor.newSession();
  await editor.prompt(session);
  const update = editor.updatesOf(session).find(({ sessionUpdate }) => sessionUpdate === 'tool_call_update') as {
    content: { newText: string }[];
  };
  expect(update.content[0]?.newText.length).toBe(length);
  expect(await scene.stored(session, 'tool.used')).toMatchObject([{ files: ['big.json'] }]);
});

test('a permission is in the inbox until it is answered in the editor', async () => {
  let answer = (_: ReturnType<typeof chosen>) => {};
  const onPermission = () => new Promise<ReturnType<typeof chosen>>((resolve) => (answer = resolve));
  const editor = await scene.open([[{ ask: 'rm -rf build' }]], { onPermission });
  const session = await editor.newSession();
  const turn = editor.prompt(session);
  const inputs = async () => (await scene.viewOf(session)).inputs;
  await expect
    .poll(inputs)
    .toMatchObject([{ kind: 'permission', tool: 'execute', message: 'rm -rf build', request: null }]);
  answer(chosen('no'));
  await turn;
  expect(wordsIn(editor, session)).toEqual(['answered: no']);
  expect(await inputs()).toEqual([]);
});

test('with `ask`, an operator may answer instead, and a later answer of the editor is ignored', async () => {
  let answer = (_: ReturnType<typeof chosen>) => {};
  const onPermission = () => new Promise<ReturnType<typeof chosen>>((resolve) => (answer = resolve));
  const editor = await scene.open([[{ ask: 'rm -rf build' }]], { onPermission, args: ['--policy', 'inbox'] });
  const session = await editor.newSession();
  // By then the policy is known.
  await expect.poll(async () => (await scene.viewOf(session)).policy).toBe('inbox');
  const turn = editor.prompt(session);
  const requests = async () => (await scene.viewOf(session)).inputs.flatMap(({ request }) => request ?? []);
  await expect.poll(requests).toHaveLength(1);
  const [request] = await requests();
  await scene.at.client.publish(`own.worker.${session}.input.answered`, {
    by: 'ann',
    request,
    verdict: 'deny',
    message: 'Not that folder',
  });
  expect(await turn).toEqual({ stopReason: 'end_turn' });
  answer(chosen('yes'));
  expect(await editor.agent.request('_echo', { a: 1 })).toEqual({ a: 1 });
  expect(wordsIn(editor, session)).toEqual(['stopgate: Not that folder', 'answered: no']);
});

test('a loaded session is the same worker: its past is not logged again, and its plan applies', async () => {
  const past = [
    {
      sessionUpdate: 'tool_call',
      toolCallId: 'old',
      title: 'Edit',
      kind: 'edit',
      status: 'completed',
      locations: [{ path: 'old.ts' }],
    },
    { sessionUpdate: 'plan', entries: [{ content: 'Fix lint', status: 'pending', priority: 'high' }] },
  ];
  const editor = await scene.openAlone({ turns: [[{ say: 'Done.' }], [done]], past });
  const session = 'thread-7';
  await scene.at.client.publish(`worker.${session}.session.ended`);
  await editor.agent.request(methods.agent.session.load, { sessionId: session, cwd: '/elsewhere', mcpServers: [] });
  expect(editor.updatesOf(session)).toHaveLength(2);
  await expect.poll(async () => (await scene.viewOf(session)).state).toBe('working');
  expect(await scene.viewOf(session)).toMatchObject({ cwd: '/elsewhere', plan: [{ title: 'Fix lint' }] });
  await editor.prompt(session);
  await scene.causesOf(session).toEqual(['incomplete', 'complete']);
  expect(await scene.stored(session, 'tool.used')).toEqual([]);
});

test('a closed session ends, and all sessions end when the editor leaves', async () => {
  const editor = await scene.openAlone({});
  const [one, two] = [await editor.newSession(), await editor.newSession()];
  await editor.agent.request(methods.agent.session.close, { sessionId: one });
  await expect.poll(async () => (await scene.viewOf(one)).state).toBe('stopped');
  expect((await scene.viewOf(two)).state).toBe('idle');
  expect(await editor.leave()).toBe(0);
  expect((await scene.viewOf(two)).state).toBe('stopped');
});
