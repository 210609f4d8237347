/** The shipped `stopgate acp` ends its agent after a signal, a kill, and when the editor leaves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcpScene, openAcpScene } from '../integration/acp/scene.ts';
import { isRunning } from '../integration/runner/workspace.ts';
import { startShipped } from '../support/shipped.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

/** @returns the editor and the agent's process id, which is at the end of its session name */
async function open() {
  const editor = await scene.openAlone({ turns: [[{ untilCancelled: true }]] }, { start: startShipped });
  const session = await editor.newSession();
  return { editor, session, pid: Number(session.split('-').at(-1)) };
}

test('an editor that leaves ends the agent', async () => {
  const { editor, session, pid } = await open();
  void editor.prompt(session).catch(() => {});
  await expect.poll(() => editor.promptsOf(session)).toHaveLength(1);
  expect(await editor.leave()).toBe(0);
  expect(await isRunning(pid)).toBe(false);
  expect(await scene.viewOf(session)).toMatchObject({ state: 'stopped' });
});

test('a signal ends both sides', async () => {
  const { editor, pid } = await open();
  expect(await editor.command.kill('SIGTERM')).toBe(130);
  expect(await isRunning(pid)).toBe(false);
});

test('after a kill, the agent ends because its stdin is closed', async () => {
  const { editor, pid } = await open();
  await editor.command.kill('SIGKILL');
  await expect.poll(() => isRunning(pid)).toBe(false);
});
