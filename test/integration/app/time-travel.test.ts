/**
 * The history of a `stopgate dev`: readable with the operator's credentials; without them there is an error message.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { type Command, runCommand, startCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';

let folder: Folder;
let elsewhere: Folder;
let dev: Command;
let nats: string;
const cli = (...args: string[]) => runCommand(args, { cwd: folder.path });
const stranger = (...args: string[]) => runCommand([...args, '--nats', nats], { cwd: elsewhere.path });

beforeAll(async () => {
  folder = await makeFolder({
    'stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }',
    'new.yaml': 'policies: { default: { checks: [{ files: [report.md] }] } }',
  });
  elsewhere = await makeFolder();
  dev = startCommand(['dev', '--port', '0', '--http', 'off'], { cwd: folder.path });
  await dev.printed(/"ready":true.*\n/);
  nats = JSON.parse(dev.stdout()).nats;
  await cli('publish', 'task', 'T-1', 'hook.registered', '{"hook":"h1","type":"tdd"}');
  await cli('publish', 'worker', 'w1', 'task.claimed', '{"task":"T-1"}');
  await cli('decide', 'w1', '{"attempt":"a1"}');
});
afterAll(async () => {
  await dev.kill('SIGINT');
  await folder.remove();
  await elsewhere.remove();
});

test('a worker and a task have their timelines', async () => {
  const timelineOf = async (...actor: string[]) => {
    const { stdout } = await cli(...actor, '--json');
    return (JSON.parse(stdout).timeline as { subject: string }[]).map(({ subject }) => subject.slice(14));
  };
  // A decision entry follows its answer.
  await expect
    .poll(() => timelineOf('worker', 'w1'))
    .toEqual(['worker.w1.task.claimed', 'worker.w1.stop.attempted', 'decision.w1']);
  expect(await timelineOf('task', 'T-1')).toEqual([
    'task.T-1.hook.registered',
    'worker.w1.task.claimed',
    'decision.w1',
  ]);
  const { stdout } = await cli('task', 'T-1');
  expect(stdout).toContain('hooks block: h1: continue (Tests still failing)');
});

test('the live log is replayed and compared: a file that no check looked for is undetermined', async () => {
  const { code, stdout } = await cli('replay', '--fleet', 'main');
  const [decision] = linesOf(stdout) as unknown as [Decision];
  expect(decision).toMatchObject({ worker: 'w1', attempt: 'a1', cause: 'incomplete' });
  expect(code).toBe(0);
  const diff = await cli('replay', '--fleet', 'main', '--policy', 'new.yaml', '--diff', '--json');
  expect(linesOf(diff.stdout)).toMatchObject([{ worker: 'w1', attempt: 'a1', after: null, check: 'files' }]);
  expect(diff.stderr).toContain('1 attempt compared: 0 would differ, 1 unknown');
});

test('without the credentials the actor is shown, but no timeline; a replay has exit code 2', async () => {
  const { code, stdout, stderr } = await stranger('worker', 'w1', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ worker: 'w1', timeline: null });
  expect(stderr).toContain('no timeline: ');
  expect(stderr).toContain("it takes an operator's credentials (--creds)");
  expect(code).toBe(0);
  const replayed = await stranger('replay', '--fleet', 'main');
  expect(replayed.stderr).toContain("it takes an operator's credentials (--creds)");
  expect(replayed).toMatchObject({ code: 2, stdout: '' });
});
