/** Version 2 of the protocol: what the editor sees of a session's states, and what the agent is asked to do after a block. */
import { expect, test } from 'vitest';
import type { Judgement } from '../../../src/acp/worker-link.ts';
import { allow, block, openRelay } from './open-relay.ts';

const update = (fields: object, sessionId = 's1') =>
  JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: fields } });
const state = (name: string, more: object = {}) => update({ sessionUpdate: 'state_update', state: name, ...more });
const running = state('running');
const idle = state('idle', { stopReason: 'end_turn' });
const stopped = state('idle', { stopReason: 'cancelled' });
const request = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const result = (id: unknown, fields: object) => JSON.stringify({ jsonrpc: '2.0', id, result: fields });
const promptOf = (text: string, id = 7) =>
  request(id, 'session/prompt', { sessionId: 's1', prompt: [{ type: 'text', text }] });
const prompt = promptOf('go');
const cancel = JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's1' } });

/** A session of an editor and an agent that agreed on version 2. */
async function open(judgements: readonly Judgement[] = [allow]) {
  const relay = openRelay(judgements);
  await relay.fromEditor(request(0, 'initialize', { protocolVersion: 2, info: { name: 'editor', version: '1' } }));
  await relay.fromAgent(result(0, { protocolVersion: 2, info: { name: 'codex', version: '1' } }));
  await relay.fromEditor(request(1, 'session/new', { cwd: '/project' }));
  await relay.fromAgent(result(1, { sessionId: 's1' }));
  relay.sent.editor.length = 0;
  relay.sent.agent.length = 0;
  const ids = () => relay.sent.agent.map((line) => (JSON.parse(line) as { id?: unknown }).id);
  return { ...relay, ids, work: () => [prompt, result(7, { messageId: 'm1' }), running] };
}
type Scene = Awaited<ReturnType<typeof open>>;

/** The editor prompts, and the agent works until it is idle. */
async function workUntil(scene: Scene, end = idle) {
  await scene.fromEditor(prompt);
  for (const line of [result(7, { messageId: 'm1' }), running, end]) await scene.fromAgent(line);
}
const says = ({ sent }: Scene) =>
  sent.editor.flatMap((line) => {
    const { update: fields } =
      (JSON.parse(line) as { params?: { update?: { content?: { text?: string } } } }).params ?? {};
    return fields?.content?.text ?? [];
  });

test('version 2 is passed on, and a newer one is capped', async () => {
  const { sent, fromEditor } = openRelay();
  await fromEditor(request(0, 'initialize', { protocolVersion: 2 }));
  await fromEditor(request(1, 'initialize', { protocolVersion: 3 }));
  expect(sent.agent.map((line) => JSON.parse(line).params.protocolVersion)).toEqual([2, 2]);
});

test('the end of work that is allowed is passed on unchanged', async () => {
  const scene = await open();
  await workUntil(scene);
  expect(scene.sent).toEqual({ agent: [prompt], editor: [result(7, { messageId: 'm1' }), running, idle] });
  expect(scene.drafts.map(({ type }) => type)).toEqual(['worker.registered', 'prompt.submitted']);
  expect(scene.drafts[0]?.data).toMatchObject({ agent: 'codex', cwd: '/project' });
});

test('after a block the editor sees work until the agent has stopped again', async () => {
  const scene = await open([block, allow]);
  await workUntil(scene);
  await expect.poll(() => scene.sent.agent.length).toBe(2);
  const again = JSON.parse(scene.sent.agent[1] ?? '') as { id: string };
  expect(again).toMatchObject({
    method: 'session/prompt',
    params: { sessionId: 's1', prompt: [{ text: 'Fix lint' }] },
  });
  expect(scene.sent.editor).not.toContain(idle);
  expect(says(scene).join()).toContain('stopgate: this stop was blocked (1 of 3): Fix lint');

  // The same state once more, before the agent has read the prompt, is no second stop.
  await scene.fromAgent(idle);
  for (const line of [result(again.id, { messageId: 'm2' }), running]) await scene.fromAgent(line);
  const before = scene.sent.editor.length;
  await scene.fromAgent(idle);
  expect(scene.sent.editor.slice(before)).toEqual([idle]);
  expect(scene.sent.editor.filter((line) => line.includes(again.id))).toEqual([]);
  expect(scene.sent.agent).toHaveLength(2);
  expect(scene.drafts.map(({ type }) => type)).toEqual(['worker.registered', 'prompt.submitted', 'heartbeat.sent']);
});

test('work that the agent begins without a prompt is judged', async () => {
  const scene = await open([block]);
  await scene.fromAgent(running);
  await scene.fromAgent(idle);
  await expect.poll(() => scene.sent.agent.length).toBe(1);
  expect(scene.sent.editor).not.toContain(idle);
});

test('an idle state that repeats, or without work, is no stop', async () => {
  const scene = await open([allow, block]);
  await scene.fromAgent(idle);
  await workUntil(scene);
  await scene.fromAgent(idle);
  expect(scene.sent.editor.filter((line) => line === idle)).toHaveLength(3);
  expect(says(scene)).toEqual([]);
});

test('an end without a reason, or with one that we do not know, is judged', async () => {
  for (const end of [state('idle'), state('idle', { stopReason: '_theirs' })]) {
    const scene = await open([block]);
    await workUntil(scene, end);
    await expect.poll(() => scene.sent.agent.length).toBe(2);
  }
});

test('a cancellation while the agent works, or while its stop is held, is followed by no prompt', async () => {
  const working = await open([block]);
  await working.fromEditor(prompt);
  await working.fromAgent(running);
  await working.fromEditor(cancel);
  await working.fromAgent(stopped);
  expect(working.sent).toEqual({ agent: [prompt, cancel], editor: [running, stopped] });

  const held = await open([block]);
  await workUntil(held);
  await held.fromEditor(cancel); // within the pause before the next prompt
  expect(held.sent.editor.at(-1)).toBe(stopped);
  expect(held.sent.agent).toEqual([prompt]); // the agent is idle already
});

test('a prompt of the editor while a stop is held ends the wait', async () => {
  const scene = await open([block]);
  await workUntil(scene);
  const other = promptOf('Do something else', 8);
  await scene.fromEditor(other);
  expect(scene.sent.agent).toEqual([prompt, other]);
  expect(scene.sent.editor.at(-1)).toBe(idle);
});

test('a prompt of ours that the agent refuses ends the work', async () => {
  const scene = await open([block]);
  await workUntil(scene);
  await expect.poll(() => scene.sent.agent.length).toBe(2);
  const error = { code: 429, message: 'too many requests' };
  await scene.fromAgent(JSON.stringify({ jsonrpc: '2.0', id: scene.ids()[1], error }));
  expect(scene.sent.editor.at(-1)).toBe(idle);
  expect(scene.drafts.at(-1)).toMatchObject({ type: 'limit.reached' });
});

test('an error is no stop, and a limit in it is noted', async () => {
  const scene = await open([block]);
  await workUntil(
    scene,
    state('idle', { stopReason: 'error', error: { code: -32603, message: 'Usage limit reached' } }),
  );
  expect(scene.drafts.at(-1)).toMatchObject({ type: 'limit.reached' });
  expect(scene.sent.agent).toEqual([prompt]);
});

test('what is repeated while a session is resumed is not judged; work that goes on is', async () => {
  const scene = await open([block]);
  await scene.fromEditor(
    request(2, 'session/resume', { sessionId: 's2', cwd: '/project', replayFrom: { type: 'start' } }),
  );
  const past = (name: string) => update({ sessionUpdate: 'state_update', state: name, stopReason: 'end_turn' }, 's2');
  for (const line of [past('running'), past('idle'), past('running')]) await scene.fromAgent(line);
  await scene.fromAgent(result(2, {}));
  expect(scene.sent.agent).toHaveLength(1);
  await scene.fromAgent(past('idle'));
  await expect.poll(() => scene.sent.agent.length).toBe(2);
});

test('a person’s command is answered in place, in the form of the version', async () => {
  const scene = await open();
  await scene.fromEditor(promptOf('/stopgate status'));
  expect(scene.sent.agent).toEqual([]);
  const updates = scene.sent.editor.map((line) => JSON.parse(line) as { params?: { update: object }; result?: object });
  expect(updates.map(({ params }) => params?.update)).toEqual([
    {
      sessionUpdate: 'user_message',
      messageId: expect.any(String),
      content: [{ type: 'text', text: '/stopgate status' }],
    },
    { sessionUpdate: 'state_update', state: 'running' },
    {
      sessionUpdate: 'agent_message_chunk',
      messageId: expect.any(String),
      content: { type: 'text', text: 'stopgate: done.' },
    },
    { sessionUpdate: 'state_update', state: 'idle', stopReason: 'end_turn' },
    undefined,
  ]);
  expect(updates.at(-1)).toMatchObject({ id: 7, result: { messageId: expect.any(String) } });
});

test('plans, tools and permissions are read in their form of version 2', async () => {
  const scene = await open();
  await scene.fromEditor(prompt);
  const step = (content: string) => ({ content, status: 'pending', priority: 'medium' });
  const lines = [
    running,
    update({ sessionUpdate: 'plan_update', plan: { type: 'items', planId: 'a', entries: [step('One')] } }),
    update({ sessionUpdate: 'plan_update', plan: { type: 'items', planId: 'b', entries: [step('Two')] } }),
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', kind: 'edit', status: 'in_progress' }),
    update({
      sessionUpdate: 'tool_call_content_chunk',
      toolCallId: 'c',
      content: { type: 'diff', changes: [{ operation: 'move', oldPath: '/project/a.ts', path: '/project/b.ts' }] },
    }),
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed' }),
    update({
      sessionUpdate: 'config_option_update',
      configOptions: [{ configId: 'm', category: 'mode', currentValue: 'ask' }],
    }),
    request(3, 'session/request_permission', {
      sessionId: 's1',
      title: 'Run the tests?',
      subject: { type: 'command', command: 'npm test', cwd: '/project' },
      options: [{ optionId: 'y', kind: 'allow_once' }],
    }),
  ];
  for (const line of lines) await scene.fromAgent(line);
  const found = (type: string) => scene.drafts.findLast((draft) => draft.type === type)?.data;
  expect(found('plan.updated')).toMatchObject({ steps: [{ title: 'One' }, { title: 'Two' }] });
  expect(found('tool.used')).toMatchObject({ ok: true, files: ['a.ts', 'b.ts'] });
  expect(found('heartbeat.sent')).toEqual({ mode: 'ask' });
  expect(found('input.requested')).toMatchObject({ kind: 'permission', message: 'Run the tests?' });
});

test('what a session reports before its folder is known waits for it', async () => {
  const scene = await open();
  await scene.fromEditor(request(2, 'session/new', { cwd: '/elsewhere' }));
  const early = update(
    {
      sessionUpdate: 'plan_update',
      plan: { type: 'items', planId: 'a', entries: [{ content: 'One', status: 'pending' }] },
    },
    's9',
  );
  await scene.fromAgent(early);
  expect(scene.sent.editor.at(-1)).toBe(early);
  expect(scene.folders).toEqual(['/project']);
  await scene.fromAgent(result(2, { sessionId: 's9' }));
  expect(scene.folders).toEqual(['/project', '/elsewhere']);
  const types = ['worker.registered', 'plan.updated'];
  expect(scene.drafts.slice(-2).map(({ type }) => type)).toEqual(types);
});
