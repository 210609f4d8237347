/** Version 2 of the protocol with the official SDK on both sides, and what editor and agent agree on. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { methods } from '@agentclientprotocol/sdk/experimental/v2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEditor } from '../../support/acp-editor.ts';
import { openEditor2 } from '../../support/acp-editor-2.ts';
import { type AcpScene, openAcpScene } from './scene.ts';

const agentProgram = new URL('../../support/acp-agent-2.mjs', import.meta.url).pathname;
const turns = [{ 'Fix lint': 'pending' }, { 'Fix lint': 'completed' }];
const agent = [process.execPath, agentProgram, JSON.stringify(turns)];

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

test('a blocked agent of version 2 works on, and the editor sees it idle once', async () => {
  const { context, updates, states, initialized } = await openEditor2({
    cwd: scene.at.folder.path,
    args: ['--nats', scene.at.server.url],
    agent,
  });
  expect(initialized).toMatchObject({ protocolVersion: 2 });
  const cwd = join(scene.at.folder.path, 'inner');
  await mkdir(cwd, { recursive: true });
  const { sessionId } = await context.request(methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: 'text' as const, text: 'Do the task.' }];
  expect(await context.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual({ messageId: 'user-1' });
  await expect.poll(states).toEqual(['running', 'running', 'idle']);
  const said = JSON.stringify(updates);
  expect(said).toContain('stopgate: this stop was blocked (1 of 3): 1 of 2 plan steps remain: Fix lint');
  await scene.causesOf(sessionId).toEqual(['incomplete', 'complete']);
  // Its first update came before its folder was known.
  expect(await scene.viewOf(sessionId)).toMatchObject({ state: 'stopped', agent: 'scripted-agent', cwd });
  expect(await scene.stored(sessionId, 'prompt.submitted')).toEqual([{ text: 'Do the task.' }]);
});

test('an editor of version 1 and an agent of both agree on version 1', async () => {
  const editor = await openEditor({
    cwd: scene.at.folder.path,
    args: ['--nats', scene.at.server.url],
    agent,
  });
  expect(editor.initialized).toMatchObject({ protocolVersion: 1 });
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  await scene.causesOf(session).toEqual(['incomplete', 'complete']);
});
