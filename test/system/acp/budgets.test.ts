/** Budgets in `stopgate acp`: an agent is stopped at its next tool when its budget is used up, and cannot spin. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcpScene, openAcpScene, open as openPlan, wordsIn } from '../../integration/acp/scene.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

/** A usage update of Qwen Code in the middle of a turn. 90 tokens count towards a budget. */
const uses = {
  update: {
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text: '' },
    _meta: { usage: { inputTokens: 100, outputTokens: 20, cachedReadTokens: 30, totalTokens: 120 } },
  },
};
const edits = { edit: 'src/a.js' };
const goesOn = { untilCancelled: true };
const limit = 'tokens 90 of 50';

test('an agent whose budget is used up is stopped at its next tool, and not prompted again', async () => {
  const editor = await scene.open([[openPlan, uses, edits, goesOn]], { args: ['--policy', 'frugal'] });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'cancelled' });
  expect(wordsIn(editor, session)).toContain(`stopgate: the budget is used up (${limit}); the agent was told to stop.`);
  expect(await editor.promptsOf(session)).toHaveLength(1);
  await scene.causesOf(session).toEqual(['bypassed']);
  expect(await scene.stored(session, 'usage.reported')).toEqual([
    { input: 70, output: 20, cacheRead: 30, source: 'acp' },
  ]);
});

test('a permission request after that is denied, and a person can grant the budget again', async () => {
  const turns = [
    [openPlan, uses, { ask: 'rm -rf build' }, goesOn],
    [{ say: 'Again.' }, edits, goesOn],
  ];
  // The person at the editor never answers.
  const editor = await scene.open(turns, { args: ['--policy', 'asking'], onPermission: () => new Promise(() => {}) });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'cancelled' });
  expect(wordsIn(editor, session)).toContain('answered: cancelled');
  expect(wordsIn(editor, session).at(-1)).toMatch(/^stopgate: this session waits for a person: .*budget is used up/);
  await scene.causesOf(session).toEqual(['budget']);
  expect(await scene.viewOf(session)).toMatchObject({ state: 'escalated', awaitsInput: false });
  const resume = { by: 'Ann', verdict: 'resume' };
  await scene.at.client.publish(`own.worker.${session}.escalation.resolved`, resume);
  // The budget is granted again, so a tool does not stop the agent.
  const turn = editor.prompt(session, 'Go on.');
  await expect.poll(() => scene.stored(session, 'tool.used')).toHaveLength(1);
  await editor.agent.notify('session/cancel', { sessionId: session });
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(wordsIn(editor, session).filter((words) => words.includes('was told to stop'))).toHaveLength(1);
});

test('usage at the end of a turn counts, in all known formats', async () => {
  const quota = { token_count: { input_tokens: 60, output_tokens: 7 } };
  const editor = await scene.open([[{ say: 'Done.' }, { stop: 'end_turn', meta: { quota } }]]);
  const session = await editor.newSession();
  await editor.prompt(session);
  expect(await scene.stored(session, 'usage.reported')).toEqual([{ input: 60, output: 7, source: 'acp' }]);
});

test('an immediate second block is delayed, with doubling pauses; a cancellation ends the pause and the turn', async () => {
  const editor = await scene.open([[openPlan]], { args: ['--policy', 'endless'] });
  const session = await editor.newSession();
  const turn = editor.prompt(session);
  const told = () =>
    wordsIn(editor, session).flatMap(
      (words) => /It stopped immediately, so it is prompted again in (.*)\./.exec(words)?.[1] ?? [],
    );
  await expect.poll(told).toEqual(['500ms', '1s', '2s', '4s']);
  const prompts = (await editor.promptsOf(session)).length;
  expect(prompts).toBe(4);
  await editor.agent.notify('session/cancel', { sessionId: session });
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(await editor.promptsOf(session)).toHaveLength(prompts);
});
