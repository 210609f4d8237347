/**
 * How `stopgate acp` ends: with its agent, with its editor, and with nothing left behind. Without a service it still
 * relays.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type AcpScene, done, open, openAcpScene, wordsIn } from '../../integration/acp/scene.ts';
import { isRunning } from '../../integration/runner/workspace.ts';
import { runCommand } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { endService, startService } from '../../support/service.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

/** Returns the agent's process id, which is at the end of its session name. */
const pidIn = (session: string): number => Number(session.split('-').at(-1));

test('if the agent exits, stopgate exits with its exit code and last messages', async () => {
  const editor = await scene.openAlone({ turns: [[{ say: 'I must go.' }, { exit: 7 }]] });
  const session = await editor.newSession();
  await expect(editor.prompt(session)).rejects.toThrow();
  expect(await editor.command.ended).toBe(7);
  expect(editor.command.stdout()).toContain('I must go.');
  expect(editor.command.stderr()).toContain('stopgate acp: the agent ended with exit code 7');
});

test('an editor that leaves ends the agent', async () => {
  const editor = await scene.openAlone({ turns: [[{ untilCancelled: true }]] });
  const session = await editor.newSession();
  void editor.prompt(session).catch(() => {});
  await expect.poll(() => editor.promptsOf(session)).toHaveLength(1);
  expect(await editor.leave()).toBe(0);
  expect(await isRunning(pidIn(session))).toBe(false);
  expect(await scene.viewOf(session)).toMatchObject({ state: 'stopped' });
});

test('an agent that ignores the end of stdin is killed, with its child processes', async () => {
  const folder = await makeFolder();
  onTestFinished(() => folder.remove());
  const script = "trap '' TERM; sleep 1000 & echo $! > child; wait";
  const agent = ['--', 'sh', '-c', script];
  const { code } = await runCommand(['acp', '--nats', scene.at.server.url, ...agent], { cwd: folder.path });
  expect(code).toBe(0);
  expect(await isRunning(Number(await readFile(`${folder.path}/child`, 'utf8')))).toBe(false);
});

test('an interrupt ends both sides', async () => {
  const editor = await scene.openAlone({ turns: [[{ untilCancelled: true }]] });
  const session = await editor.newSession();
  expect(await editor.command.kill('SIGINT')).toBe(130);
  expect(await isRunning(pidIn(session))).toBe(false);
});

test('an endless line is refused, and ends both sides', async () => {
  const editor = await scene.openAlone({ turns: [[{ endless: true }]] });
  const session = await editor.newSession();
  await expect(editor.prompt(session)).rejects.toThrow();
  expect(await editor.command.ended).toBe(2);
  expect(editor.command.stderr()).toContain('the agent sent a line longer than 67108864 bytes; the session was closed');
  await expect.poll(() => isRunning(pidIn(session))).toBe(false);
});

test.each([
  { words: [], says: 'no agent given; write its command after "--": npx stopgate acp -- AGENT ARGS…' },
  { words: ['--', 'no-such-agent', '--acp'], says: "cannot run 'no-such-agent': there is no such command" },
  { words: ['--', './stopgate.yaml'], says: "cannot run './stopgate.yaml': it is not a program that you may run" },
  { words: ['--polcy', 'x', '--', 'true'], says: 'Did you mean --policy?' },
])('an agent that cannot be started is an error: $words', async ({ words, says }) => {
  const ended = await runCommand(['acp', ...words], { cwd: scene.at.folder.path });
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
});

test('without a service the agent works normally, and the editor shows that nothing was judged', async () => {
  const editor = await scene.openAlone(
    { turns: [[open, { say: 'Done.' }]] },
    { args: ['--nats', 'nats://127.0.0.1:9'] },
  );
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  expect(wordsIn(editor, session)).toEqual(['Done.', expect.stringMatching(/^stopgate: this stop was not judged: /)]);
  expect(await editor.promptsOf(session)).toHaveLength(1);
});

test('if the service ends during a turn, the agent ends the turn itself; the next turn is judged again', async () => {
  const own = await openAcpScene();
  onTestFinished(() => own.close());
  const ask = { ask: 'May I?' };
  let ended: Promise<unknown> | null = null;
  const onPermission = async () => {
    ended ??= endService(own.at.service);
    await ended;
    return { outcome: { outcome: 'selected' as const, optionId: 'yes' } };
  };
  const editor = await own.openAlone(
    { turns: [[open], [ask, { say: 'Done.' }], [{ say: 'Done.' }], [done]] },
    { onPermission },
  );
  const session = await editor.newSession();
  expect(await editor.prompt(session)).toEqual({ stopReason: 'end_turn' });
  expect(wordsIn(editor, session).at(-1)).toMatch(/^stopgate: this stop was not judged: /);
  const again = await startService(['serve', '--nats', own.at.server.url, '--http', '127.0.0.1:0'], own.at.folder.path);
  onTestFinished(() => endService(again));
  await editor.prompt(session, 'Go on.');
  expect(wordsIn(editor, session)).toContainEqual(expect.stringMatching(/^stopgate: this stop was blocked/));
  expect(await editor.promptsOf(session)).toHaveLength(4);
  expect((await own.viewOf(session)).lastDecision).toMatchObject({ cause: 'complete' });
});
