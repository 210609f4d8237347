/** The relay passes most messages on byte for byte, and parsing them never delays them. */
import { afterEach, expect, test, vi } from 'vitest';
import { allow, block, openRelay as open } from './open-relay.ts';

const prompt =
  '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}';

test.each([
  '{"jsonrpc":"2.0","id":12345678901234567890,"method":"_theirs/thing","params":{"n":0.10}}',
  '{ "jsonrpc" : "2.0", "method": "session/update", "params": {"sessionId":"s1","update":{"sessionUpdate":"new_kind","x":1}} }',
  '{"jsonrpc":"2.0","id":"a","result":null}',
  '{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"no","data":{"deep":[[[]]]}}}',
  '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":5}}}',
  '[{"jsonrpc":"2.0","method":"a"}]',
  'npm warn: this is no message',
  '',
])('unchanged, in both directions: %s', async (line) => {
  const { sent, notes, fromAgent, fromEditor } = open();
  await fromAgent(line);
  await fromEditor(line);
  expect(sent).toEqual({ editor: [line], agent: [line] });
  expect(notes).toEqual([]);
});

test('an input with too many levels is passed on without a crash', async () => {
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const line = `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","rawInput":{"x":${nested}}},"options":[]}}`;
  const { sent, fromAgent } = open();
  await fromAgent(line);
  expect(sent.editor).toEqual([line]);
});

test('the answer of an allowed turn is passed on unchanged', async () => {
  const { sent, fromAgent, fromEditor } = open();
  await fromEditor(prompt);
  const answer = '{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","_meta":{"x":1.0}}}';
  await fromAgent(answer);
  expect(sent).toEqual({ editor: [answer], agent: [prompt] });
});

test('after a block the agent is prompted under another id, and the editor is answered under its own', async () => {
  const { sent, drafts, fromAgent, fromEditor } = open([block, allow]);
  await fromEditor(prompt);
  await fromAgent('{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}');
  // It stopped at once, so the prompt is delayed.
  await expect.poll(() => sent.agent.length).toBe(2);
  const again = JSON.parse(sent.agent[1] ?? '') as { id: string };
  expect(again).toMatchObject({
    method: 'session/prompt',
    params: { sessionId: 's1', prompt: [{ text: 'Fix lint' }] },
  });
  // The editor's own request 7 has been answered; an answer that has our id by chance belongs to no request.
  await fromAgent(
    JSON.stringify({ jsonrpc: '2.0', id: again.id, result: { stopReason: 'end_turn', _meta: { y: 2 } } }),
  );
  expect(JSON.parse(sent.editor.at(-1) ?? '')).toEqual({
    jsonrpc: '2.0',
    id: 7,
    result: { stopReason: 'end_turn', _meta: { y: 2 } },
  });
  const types = ['worker.registered', 'prompt.submitted', 'heartbeat.sent'];
  expect(drafts.map(({ type }) => type)).toEqual(types);
});

test('a cancellation between a stop and its block is not followed by another prompt', async () => {
  const { sent, fromAgent, fromEditor } = open([block]);
  await fromEditor(prompt);
  await fromEditor('{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}');
  await fromAgent('{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}');
  expect(sent.agent).toHaveLength(2);
  expect(sent.editor).toHaveLength(1);
});

afterEach(() => {
  vi.useRealTimers();
});

test('after an operator has answered, the answer of the editor does not reach the agent', async () => {
  const { sent, fromAgent, fromEditor } = open();
  await fromEditor(prompt);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const options = '[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]';
  await fromAgent(
    `{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c"},"options":${options}}}`,
  );
  await vi.advanceTimersByTimeAsync(1_000);
  const denied = '{"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}';
  expect(sent.agent).toEqual([prompt, denied]);
  expect(sent.editor).toContain('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}');
  await fromEditor('{"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}');
  expect(sent.agent).toHaveLength(2);
});

test('an answer in an unknown form ends the turn, and nothing is judged', async () => {
  const { sent, fromAgent, fromEditor } = open([block]);
  await fromEditor(prompt);
  await fromAgent('{"jsonrpc":"2.0","id":7,"result":{}}');
  expect(sent.editor).toEqual(['{"jsonrpc":"2.0","id":7,"result":{}}']);
});

/** What agents answered when their model refused a request with status 429. */
const refused = {
  'codex-acp 2.6.0': {
    code: -32603,
    message: 'Internal error',
    data: { message: 'Try again at 2:18 AM.', codexErrorInfo: 'usageLimitExceeded' },
  },
  'claude-agent-acp 0.101.0': {
    code: -32603,
    message: 'Internal error: API Error: Request rejected (429) · x',
    data: { errorKind: 'rate_limit' },
  },
  'Gemini CLI 0.61.0': { code: 429, message: 'You have exhausted your daily quota on this model.' },
};

test.each(Object.entries(refused))('a limit in the error of %s is noted, and is no stop', async (_agent, error) => {
  const { sent, drafts, fromAgent, fromEditor } = open([block]);
  await fromEditor(prompt);
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 7, error });
  await fromAgent(answer);
  expect(sent).toEqual({ agent: [prompt], editor: [answer] });
  expect(drafts.at(-1)).toEqual({ type: 'limit.reached', data: {} });
});

test('a limit that Codex ends a turn with is no stop; other failures of it are judged', async () => {
  const update = (fields: object) =>
    JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update: fields } });
  const failed = update({
    sessionUpdate: 'session_info_update',
    _meta: { codex: { threadStatus: { type: 'systemError' } } },
  });
  const says = (text: string) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  const end = '{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}';
  const turn = async (...lines: string[]) => {
    const { drafts, sent, fromAgent, fromEditor } = open([block]);
    await fromEditor(prompt);
    for (const line of [...lines, end]) await fromAgent(line);
    return { last: drafts.at(-1)?.type, isPassedOn: sent.editor.at(-1) === end };
  };
  const limit = says('exceeded retry limit, last status: 429 Too Many Requests');
  expect(await turn(failed, limit)).toEqual({ last: 'limit.reached', isPassedOn: true });
  expect(await turn(limit)).toEqual({ last: 'prompt.submitted', isPassedOn: false });
  expect(await turn(failed, says('The stream was cut.'))).toEqual({ last: 'prompt.submitted', isPassedOn: false });
});
