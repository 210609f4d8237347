/** The output of `stopgate hook` with a service, without one, and with junk. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Ended, runCommand } from '../../support/command.ts';
import { type Deployment, deploy, type Folder, makeFolder } from '../../support/deployment.ts';
import { closedPort, openPort } from '../../support/port.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';

const stop = { hook_event_name: 'Stop', session_id: 's1', stop_hook_active: false };
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(async () => {
  await folder.remove();
});

const hook = (args: readonly string[], stdin: string | object, env: Record<string, string> = {}): Promise<Ended> =>
  runCommand(['hook', ...args], {
    cwd: folder.path,
    env,
    // Other tests cover retries.
    waits: { serviceMs: 1, sessionMs: 300 },
    stdin: typeof stdin === 'string' ? stdin : JSON.stringify(stdin),
  });

describe('with a service', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy({
      config: `policies:
  default: { checks: [{ plan: {} }] }
  free: {}
  stuck: { promises: true }
  broken: { checks: [{ command: none }] }
commands: { none: { run: [/no/such/program] } }
`,
    });
  });
  afterAll(() => at.close());
  const call = (session: string, name: string, changes: object = {}) => ({
    ...recorded(name),
    session_id: session,
    ...changes,
  });

  test('prints a block as one line, and nothing for an allow', async () => {
    const planned = call('session-1', 'PostToolUse.TaskCreate', {
      tool_input: { subject: 'Write tests' },
      tool_response: { task: { id: '1', subject: 'Write tests' } },
    });
    const nothing = { code: 0, stdout: '', stderr: '' };
    expect(await hook(['claude', '--http', at.http], planned)).toEqual(nothing);
    const blocked = await hook(['claude', '--http', at.http], call('session-1', 'Stop'));
    expect(blocked).toMatchObject({ code: 0, stderr: '' });
    expect(blocked.stdout).toMatch(/^\{"hookSpecificOutput":\{.*plan steps remain: Write tests.*\}\n$/);
    expect(await hook(['claude'], call('session-2', 'Stop'), { STOPGATE_HTTP: at.http })).toEqual(nothing);
  });

  test('a script gets its answer as an exit code', async () => {
    const line = ['shell', '--worker', 'tool-1', '--http', at.http];
    const steps = [{ title: 'Write tests', status: 'pending' }];
    expect((await hook([...line, '--event', 'plan'], { steps })).code).toBe(0);
    const blocked = await hook(line, '');
    expect(blocked).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('plan steps remain: Write tests') });
    await hook([...line, '--event', 'plan'], { steps: [{ title: 'Write tests', status: 'done' }] });
    expect(await hook(line, '')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('prints to stderr why a stop was not judged if the agent’s answer has no field for it', async () => {
    const says = expect.stringMatching(
      /^stopgate: this stop was not judged \(cause unjudged\): cannot run \/no\/such\/program: .*\n$/,
    );
    const line = (agent: string) => [agent, '--http', at.http, '--policy', 'broken'];
    const quiet = { code: 0, stdout: '', stderr: says };
    expect(await hook([...line('shell'), '--worker', 'unjudged-1'], '')).toEqual(quiet);
    expect(await hook([...line('cursor'), '--event', 'stop'], { conversation_id: 'unjudged-2' })).toEqual(quiet);
    expect(await hook([...line('copilot'), '--event', 'agentStop'], { sessionId: 'unjudged-3' })).toEqual(quiet);
    const { stdout, stderr } = await hook(line('claude'), call('unjudged-4', 'Stop'));
    expect([JSON.parse(stdout), stderr]).toEqual([{ systemMessage: expect.stringContaining('unjudged') }, '']);
  });

  test('Copilot’s line names the event, because its call does not', async () => {
    const line = ['copilot', '--http', at.http, '--event', 'agentStop'];
    const answer = await hook(line, { sessionId: 'copilot-1', timestamp: 1, cwd: '/w', stopReason: 'end_turn' });
    expect(answer).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await at.client.ask('get.worker.copilot-1')).body).toMatchObject({ agent: 'copilot', state: 'stopped' });
  });

  test('the worker gets the policy of the line', async () => {
    await hook(['claude', '--http', at.http, '--policy', 'free'], call('session-3', 'UserPromptSubmit'));
    expect((await at.client.ask('get.worker.session-3')).body).toMatchObject({ policy: 'free' });
    const { stderr } = await hook(['claude', '--http', at.http, '--policy', 'a b'], call('session-3', 'Stop'));
    expect(stderr).toContain('?policy=a b is not the name of a policy');
  });

  test('a call in the format of another agent is skipped, with a notice on stderr', async () => {
    const { code, stdout, stderr } = await hook(['claude', '--http', at.http], { hook_event_name: 'Stop' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('not judged') });
    expect(JSON.parse(stdout)).toEqual({ systemMessage: expect.stringContaining('was not judged') });
  });

  describe('--wake', () => {
    const giveUp = (session: string) => call(session, 'Stop', { last_assistant_message: '<promise>BLOCKED</promise>' });
    const wait = (session: string) => hook(['claude', '--wake', '--http', at.http], giveUp(session));
    const resolve = (session: string, data: object) =>
      at.client.publish(`own.worker.${session}.escalation.resolved`, { by: 'me', ...data });
    const quiet = { code: 0, stdout: '', stderr: '' };

    test('waits for the resolution even if started before the judgement, and one of two gets the prompt', async () => {
      const waiting = [wait('wake-1'), wait('wake-1')];
      await hook(['claude', '--http', at.http, '--policy', 'stuck'], giveUp('wake-1'));
      await resolve('wake-1', { verdict: 'resume', prompt: 'Use the other key' });
      const [quietOne, woken] = (await Promise.all(waiting)).sort((a, b) => (a.code ?? 0) - (b.code ?? 0));
      expect(quietOne).toEqual(quiet);
      expect(woken).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/says: Use the other key\n$/) });
      expect((await at.client.ask('get.worker.wake-1')).body).toMatchObject({ state: 'working', resolution: null });
    });

    test('is silent if the session must stop, was never escalated, the wait is too long, or there is no service', async () => {
      await hook(['claude', '--http', at.http, '--policy', 'stuck'], giveUp('wake-2'));
      expect(await hook(['claude', '--wake', '--timeout', '100ms', '--http', at.http], giveUp('wake-2'))).toEqual(
        quiet,
      );
      const waiting = wait('wake-2');
      await resolve('wake-2', { verdict: 'stop' });
      expect(await waiting).toEqual(quiet);
      expect(await wait('wake-unknown')).toEqual(quiet);
      expect(await hook(['claude', '--wake', '--http', await closedPort()], stop)).toEqual(quiet);
      expect(await hook(['codex', '--wake'], stop)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('is only for claude'),
      });
    });
  });

  test('a number that is not valid JSON does not lose the call', async () => {
    const line = ['claude', '--http', at.http, '--policy', 'broken'];
    const stop = JSON.stringify(call('session-5', 'Stop', { ratio: 0 })).replace('"ratio":0', '"ratio":NaN');
    // The call reached the service, which tried to judge it.
    expect(await hook(line, stop)).toMatchObject({ stdout: expect.stringContaining('(cause unjudged)'), stderr: '' });
  });

  test('a large call is judged, but not one of more than 16 MiB', async () => {
    const huge = call('session-4', 'PostToolUse', { tool_response: 'x'.repeat(17 * 1024 * 1024) });
    expect(await hook(['claude', '--http', at.http], huge)).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('more than 16777216 bytes'),
    });
    const large = call('session-4', 'PostToolUse', { tool_response: 'x'.repeat(10 * 1024 * 1024) });
    expect(await hook(['claude', '--http', at.http], large)).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

describe('without a service', () => {
  let http: string;
  beforeAll(async () => {
    http = await closedPort();
  });

  test.each(['claude', 'codex'])('%s may stop, with a notice to the person that nothing was judged', async (agent) => {
    const { code, stdout, stderr } = await hook([agent, '--http', http], stop);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^stopgate: this stop was not judged: no service at http:\/\/127.* It is allowed\.\n$/);
    expect(JSON.parse(stdout)).toEqual({ systemMessage: stderr.trimEnd() });
  });

  test.each([
    ['claude', 'It is allowed.'],
    ['claude --on-unreachable block', 'It is blocked because of --on-unreachable.'],
  ])('%s: in a folder whose service has stopped, the service of another folder is not asked', async (line, outcome) => {
    const stopped = await makeFolder({ '.stopgate/.gitignore': '*\n', 'stopgate.yaml': 'policies: { default: {} }\n' });
    onTestFinished(() => stopped.remove());
    const { code, stdout, stderr } = await runCommand(['hook', ...line.split(' ')], {
      cwd: stopped.path,
      stdin: JSON.stringify(stop),
      waits: { serviceMs: 1 },
    });
    const why = `the service of ${stopped.path} is not running; start "stopgate dev" there, or name another with --http`;
    expect({ code, stderr }).toEqual({ code: 0, stderr: `stopgate: this stop was not judged: ${why}. ${outcome}\n` });
    expect(JSON.parse(stdout)).toMatchObject({ systemMessage: stderr.trimEnd() });
  });

  test('an event that is only stored is skipped', async () => {
    const { code, stdout, stderr } = await hook(['claude', '--http', http, '--on-unreachable', 'block'], {
      ...stop,
      hook_event_name: 'PostToolUse',
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('the event PostToolUse was not judged');
  });

  test.each([
    ['claude', ['decision', 'reason', 'systemMessage']],
    ['codex', ['decision', 'reason', 'systemMessage']],
    ['copilot', ['decision', 'reason']],
    ['cursor', ['followup_message']],
  ])('%s is blocked if the line asks for it', async (agent, keys) => {
    const event = agent === 'cursor' ? 'stop' : 'Stop';
    const line = [agent, '--http', http, '--on-unreachable', 'block', '--event', event];
    const { code, stdout, stderr } = await hook(line, stop);
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(keys);
    expect(stdout).toContain('Nobody could judge this stop');
    expect(stderr).toContain('It is blocked');
  });

  test('gemini may stop', async () => {
    const { code, stdout } = await hook(['gemini', '--http', http], { ...stop, hook_event_name: 'AfterAgent' });
    expect({ code, keys: Object.keys(JSON.parse(stdout) as object) }).toEqual({ code: 0, keys: ['systemMessage'] });
  });

  test('a script gets exit code 0, or 2 with the reason on stderr', async () => {
    expect(await hook(['shell', '--worker', 'w1', '--http', http], '')).toMatchObject({ code: 0, stdout: '' });
    const blocked = await hook(['shell', '--worker', 'w1', '--http', http, '--on-unreachable', 'block'], '');
    expect(blocked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Do not work around this') });
  });

  test('waits for a service that restarts before it blocks', async () => {
    let calls = 0;
    const restarted = createServer((socket) => {
      calls += 1;
      if (calls < 3) socket.destroy();
      else socket.on('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void restarted.close());
    await once(restarted, 'listening');
    const { port } = restarted.address() as AddressInfo;
    const line = ['hook', 'claude', '--http', `127.0.0.1:${port}`, '--on-unreachable', 'block'];
    const waits = { serviceMs: 10_000 };
    const answered = await runCommand(line, { cwd: folder.path, waits, stdin: JSON.stringify(stop) });
    expect(answered).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(calls).toBe(3);
  });
});

describe('with another program at the address of the service', () => {
  const json = (text: string, status = '200 OK', length = text.length) =>
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`;
  test.each([
    ['HTTP 500', json('{"error":{"message":"internal error"}}', '500 Oops'), 'answered 500: internal error'],
    ['HTTP 503', json('{"error":{"message":"the log is gone"}}', '503 X'), 'answered 503: the log is gone'],
    ['half an answer', json('{"decision":"blo', '200 OK', 400), 'is incomplete'],
    ['no JSON', json('<html>'), 'is not stopgate'],
    ['a list', json('[]'), 'is not stopgate'],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'is incomplete'],
    ['nothing', '', 'is incomplete'],
  ])('%s: nothing was judged', async (_what, answer, says) => {
    const { http } = await openPort(answer);
    const { code, stdout, stderr } = await hook(['claude', '--http', http], stop);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(says) });
    expect(JSON.parse(stdout)).toEqual({ systemMessage: expect.stringContaining(says) });
  });

  test('does not wait for a service that never answers after the deadline', async () => {
    const { http } = await openPort(null);
    const { code, stderr } = await hook(['codex', '--http', http, '--timeout', '300ms'], stop);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/\S+ did not answer within [\d.]+ s/) });
  });

  test('sends the token of the variable in the header', async () => {
    const { http, heard } = await openPort('HTTP/1.1 204 No Content\r\n\r\n');
    await hook(['claude', '--http', http, '--token-env', 'MINE'], stop, { MINE: 'hush' });
    expect(heard.join('')).toContain('\r\nauthorization: Bearer hush\r\n');
    expect(heard.join('')).toMatch(/^POST \/hooks\/claude\?event=Stop HTTP\/1\.0\r\n/);
  });

  test('an answer to a script becomes its exit code', async () => {
    const { http, heard } = await openPort(json('{"decision":"block","reason":"Write the tests"}'));
    const blocked = await hook(['shell', '--worker', 'w1', '--http', http], '{"output":"done"}');
    expect(blocked).toEqual({ code: 2, stdout: '', stderr: 'Write the tests\n' });
    expect(heard.join('')).toContain('{"output":"done","worker":"w1"}');
  });
});

describe('junk', () => {
  test.each([
    ['nothing', '', 'stdin is empty'],
    ['no JSON', '{"hook_event_name":', 'is not JSON'],
    ['a list', '[1]', 'is not a JSON object'],
    ['null', 'null', 'is not a JSON object'],
    ['broken text', '\u0000\uFFFD', 'is not JSON'],
  ])('%s on stdin blocks nobody, not even with --on-unreachable block', async (_what, stdin, says) => {
    const line = ['codex', '--event', 'Stop', '--http', await closedPort(), '--on-unreachable', 'block'];
    expect(await hook(line, stdin)).toEqual({ code: 0, stdout: '', stderr: expect.stringContaining(says) });
  });

  test.each([
    [[], 'no agent given; use one of: claude, codex'],
    [['nobody'], "unknown agent 'nobody'"],
    [['claude', '--frob'], "'--frob'"],
    [['claude', '--http', 'a b'], 'is not HOST:PORT'],
    [['claude', '--timeout', 'soon'], 'is not a duration'],
    [['claude', '--on-unreachable', 'maybe'], 'is not valid; use allow or block'],
    [['shell'], '--worker W'],
  ])('a wrong command line exits with 1, which blocks no agent: %s', async (args, says) => {
    const { code, stdout, stderr } = await hook(args, stop);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(says) });
  });
});
