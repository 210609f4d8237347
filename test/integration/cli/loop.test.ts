/** `stopgate loop` repeats a command with the next prompt until it may stop. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type TurnsContext, takeTurns } from '../../../src/cli/commands/agents/loop-turns.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { RunCheck } from '../../../src/host/effects/workspace-check.ts';
import type { Requester } from '../../../src/nats/requester.ts';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { isRunning } from '../runner/workspace.ts';

let server: NatsServer;
let client: Client;
let folder: Folder;
let replica: Replica | null = null;

/** Passes if the agent has written the file. */
const policies = { policies: { default: { retries: 3, checks: [{ command: 'done' }] } } };
const runCheck: RunCheck = async () => {
  const isDone = await access(join(folder.path, 'done')).then(
    () => true,
    () => false,
  );
  return isDone ? { outcome: 'pass', tookMs: 1 } : { outcome: 'fail', reason: 'not done yet', tookMs: 1 };
};
const start = async () => {
  replica = await startReplica({ nats: server.url, policies, runCheck });
};

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
  folder = await makeFolder();
});
afterEach(async () => {
  await replica?.close();
  replica = null;
  await client.close();
  await server.stop();
  await folder.remove();
});

const lineOf = (script: string, options: readonly string[], words: readonly string[] = []) => [
  'loop',
  '--worker',
  'w1',
  '--pause',
  '0',
  ...options,
  '--nats',
  server.url,
  '--',
  'sh',
  '-c',
  script,
  'sh',
  ...words,
];
const run = (...line: Parameters<typeof lineOf>) => runCommand(lineOf(...line), { cwd: folder.path });
const file = (name: string) => readFile(join(folder.path, name), 'utf8');

test('each turn gets the prompt and the next prompt until the work is complete', async () => {
  await start();
  await client.publish('task.T-1.task.created', {});
  const script =
    'echo "turn $STOPGATE_TURN of $STOPGATE_WORKER"; cat >"in-$STOPGATE_TURN"; [ $STOPGATE_TURN = 3 ] && : >done';
  const { code, stdout, stderr } = await run(script, ['--prompt', 'Make it.', '--task', 'T-1']);
  expect(stdout).toBe('turn 1 of w1\nturn 2 of w1\nturn 3 of w1\n');
  expect(stderr).toMatch(
    /^stopgate: turn 1 of w1 \(exit code 1\): block · continue · incomplete: .*\nstopgate: turn 2 .*\nstopgate: turn 3 of w1: allow · complete · complete: .*\n$/,
  );
  expect(code).toBe(0);
  expect(await file('in-1')).toBe('Make it.');
  expect(await file('in-2')).toMatch(/^Make it\.\n\n.*not done yet/);
  expect((await client.ask('get.task.T-1')).body).toMatchObject({ state: 'stopped' });
  const [first] = await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.stop.attempted');
  expect(first).toMatchObject({ output: 'turn 1 of w1\n' });
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.session.ended')).toHaveLength(1);
});

test('with --continue, later turns get only the next prompt; --json prints the decisions on stdout', async () => {
  await start();
  const script = 'printf %s "$1" >"in-$STOPGATE_TURN"; echo said; [ $STOPGATE_TURN = 2 ] && : >done';
  const { code, stdout, stderr } = await run(script, ['--prompt', 'Make it.', '--continue', '--json'], ['{prompt}']);
  expect(code).toBe(0);
  expect(linesOf(stdout).map(({ cause }) => cause)).toEqual(['incomplete', 'complete']);
  expect(stderr).toContain('said\n');
  expect([await file('in-1'), await file('in-2')]).toEqual(['Make it.', expect.not.stringContaining('Make it')]);
});

test('a task of another worker is an error: exit code 1, and no turn runs', async () => {
  await start();
  await client.publish('worker.holder.task.claimed', { task: 'T-2' });
  const { code, stdout, stderr } = await run('echo ran', ['--prompt', 'Make it.', '--task', 'T-2']);
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: 'stopgate: task T-2 is held by holder\n' });
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.session.ended')).toHaveLength(1);
});

test('a mistyped task is not created: exit code 1', async () => {
  await start();
  const { code, stdout, stderr } = await run('echo ran', ['--prompt', 'Make it.', '--task', 'T-9']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(
    'stopgate: task T-9 is unknown in fleet main; "npx stopgate tasks" lists the known ones. If it is new, create it: npx stopgate publish task T-9 task.created\n',
  );
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.>')).toEqual([]);
});

test('a policy that does not apply is reported', async () => {
  await start();
  const { code, stderr } = await run(': >done', ['--prompt', 'Make it.', '--policy', 'nope']);
  expect(stderr).toMatch(/^stopgate: w1 gets policy default, not nope: .*\nstopgate: turn 1 .*\n$/);
  expect(code).toBe(0);
});

test('an empty or missing prompt is refused before anything is stored', async () => {
  await start();
  expect(await run('true', ['--prompt', ' '])).toMatchObject({
    code: 2,
    stderr: 'stopgate: --prompt is empty; write what the agent should do\n',
  });
  const line = lineOf('true', ['--prompt-file', '-']);
  expect(await runCommand(line, { cwd: folder.path, stdin: '' })).toMatchObject({
    code: 2,
    stderr: 'stopgate: --prompt-file is empty; write what the agent should do\n',
  });
  expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.>')).toEqual([]);
  // Our output starts on a new line even if the command's output has no final newline.
  expect((await run(': >done; printf said >&2', [])).stderr).toMatch(
    /^stopgate: without --prompt or --prompt-file, the command must already know what to do\nsaid\nstopgate: turn 1 of w1: /,
  );
});

test('a prompt of megabytes reaches the command whole, but only its start is logged', async () => {
  await start();
  await writeFile(join(folder.path, 'PROMPT.md'), 'x'.repeat(3_000_000));
  const { code, stdout } = await run('wc -c; : >done', ['--prompt-file', 'PROMPT.md']);
  expect(stdout.trim()).toBe('3000000');
  expect(code).toBe(0);
  const [entry] = await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.prompt.submitted');
  expect(entry).toMatchObject({ text: 'x'.repeat(2_000) });
});

test('a cap or --turns ends it: exit code 1', async () => {
  await start();
  const capped = await run('exit 7', []);
  expect(capped.stderr).toMatch(/turn 4 of w1 \(exit code 7\): allow · complete · capped/);
  expect(capped.code).toBe(1);
  const [attempt] = await client.stored('STOPGATE_main', 'stopgate.main.worker.w1.stop.attempted');
  expect(attempt).toMatchObject({ stopReason: 'exit code 7' });
  const short = await run('true', ['--turns', '1']);
  expect(short.stderr).toMatch(/allow more with --turns\n$/);
  expect(short.code).toBe(1);
});

test('Ctrl-C ends the command and its child processes', async () => {
  await start();
  const command = startCommand(lineOf('sleep 1000 & echo $!; wait', []), { cwd: folder.path });
  await command.printed(/^\d+\n/);
  expect(await command.kill('SIGINT')).toBe(130);
  expect(await isRunning(Number(command.stdout()))).toBe(false);
});

test('without a service no turn is paid for', async () => {
  await start();
  await replica?.close();
  const { code, stderr } = await run(': >done', []);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('no stopgate service serves') });
  await expect(file('done')).rejects.toThrow('ENOENT');
});

test('a service that is away at the end of a turn judges it when it is back', async () => {
  await start();
  const script = 'echo working; until [ -e go ]; do sleep 0.05; done; : >done';
  const command = startCommand(lineOf(script, []), { cwd: folder.path });
  await command.printed('working');
  await replica?.close();
  await folder.write('go', '');
  await command.printed('turn 1 of w1 is not judged yet');
  await start();
  expect(await command.ended).toBe(0);
});

test('each turn gets the prompt from stdin', async () => {
  await start();
  const line = lineOf('cat >"in-$STOPGATE_TURN"; [ $STOPGATE_TURN = 1 ] || : >done', ['--prompt-file', '-']);
  expect((await runCommand(line, { cwd: folder.path, stdin: 'Make it.\n' })).code).toBe(0);
  expect([await file('in-1'), await file('in-2')]).toEqual(['Make it.', expect.stringMatching(/^Make it\.\n\n/)]);
});

test.each([
  ['no-such-agent', 'there is no such command'],
  ['', 'there is no such command'],
  ['./notes.txt', 'it is not a program that you may run'],
])('%s cannot run, and the error says why', async (agent, why) => {
  await start();
  await folder.write('notes.txt', '');
  const line = ['loop', '--nats', server.url, '--prompt', 'Make it.', '--', agent];
  const { code, stderr } = await runCommand(line, { cwd: folder.path });
  expect([code, stderr]).toEqual([2, `stopgate: cannot run '${agent}': ${why}\n`]);
});

test('a command whose options look like ours is refused with a hint to use --', async () => {
  const { code, stderr } = await runCommand(['loop', 'claude', '-p'], { cwd: folder.path });
  expect([code, stderr]).toEqual([
    2,
    `stopgate: unknown option '-p'; put your command after "--" (see "npx stopgate loop --help")\n`,
  ]);
});

test('a command that ends at once is delayed before its next turn, and Ctrl-C ends the wait', async () => {
  await start();
  const command = startCommand(lineOf('true', ['--pause', '1h']), { cwd: folder.path });
  await command.printed('turn 1 of w1: block · continue · incomplete: ');
  await command.printed('; the turn ended at once, so the next one starts in 1h\n');
  expect(await command.kill('SIGINT')).toBe(130);
});

test('a turn that a usage limit ended is repeated when the limit is over', async () => {
  await start();
  const script =
    'echo "$STOPGATE_TURN: $1" >>turns; [ "$STOPGATE_TURN" = 1 ] && { echo "usage limit reached, try again in 2s" >&2; exit 1; }; touch done';
  const { code, stderr } = await run(script, ['--prompt', 'Work'], ['{prompt}']);
  expect(stderr).toMatch(/stopgate: w1 continues when its usage limit resets, at \d{4}-\d\d-\d\dT[\d:.]+Z\n/);
  expect(await file('turns')).toBe('1: Work\n2: Work\n');
  expect(code).toBe(0);
});

test('a usage limit at the last turn ends the loop with the same advice as a block: exit code 1', async () => {
  await start();
  const { code, stderr } = await run('echo "usage limit reached, try again in 3h" >&2; exit 1', ['--turns', '1']);
  expect(stderr).toContain(
    'stopgate: the command has used its 1 turn, and its usage limit holds; allow more with --turns\n',
  );
  expect(code).toBe(1);
});

// Root cause: a worker that is silent for 2 minutes is stale and loses its task. Its loop then claimed the task again
// for ever.
test('the worker sends heartbeats only while its command runs', async () => {
  const published: string[] = [];
  const requester = {
    publish: async (subject: string) => void published.push(subject),
    request: async () => ({ decision: 'allow', action: 'complete', cause: 'complete', reason: '' }),
  } as unknown as Requester;
  const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const io = { cwd: folder.path, env: { PATH: readEnvironment().PATH }, stdout: sink(), stderr: sink(), isTTY: false };
  const command = ['sh', '-c', 'until [ -e enough ]; do sleep 0.01; done'];
  const context = { flags: { command, json: false, continue: false }, io, note: () => {} } as unknown as TurnsContext;
  const end = takeTurns(requester, {
    worker: 'w1',
    turns: 1,
    pauseMs: 0,
    signal: new AbortController().signal,
    heartbeatMs: 1,
    context,
    readPrompt: async () => '',
  });
  const signs = () => published.filter((subject) => subject === 'worker.w1.heartbeat.sent').length;
  await expect.poll(signs).toBeGreaterThan(3);
  await folder.write('enough', '');
  expect(await end).toMatchObject({ cause: 'complete' });
  const count = signs();
  await new Promise(setImmediate);
  expect(signs()).toBe(count);
});

test('waits leave no listeners for Ctrl-C behind', async () => {
  replica = await startReplica({
    nats: server.url,
    policies: { policies: { default: { retries: null, checks: [{ rules: ['x'] }] } } },
  });
  const warnings: Error[] = [];
  const keep = (warning: Error) => void warnings.push(warning);
  process.on('warning', keep);
  try {
    const { code } = await run('true', ['--turns', '12', '--pause', '1']);
    expect(code).toBe(1);
    // Node emits a warning in the tick after its cause.
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', keep);
  }
});

test('a failure that names a time to retry but no limit is judged like any other', async () => {
  await start();
  const script = '[ "$STOPGATE_TURN" = 2 ] && touch done; echo "no network: try again in 3h" >&2; exit 1';
  const { code, stderr } = await run(script, ['--prompt', 'Work'], ['{prompt}']);
  expect(stderr).not.toContain('usage limit');
  expect(code).toBe(0);
});
