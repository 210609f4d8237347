/** The shipped `stopgate hook`, a process that an agent starts for each call, and the processes that it starts. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { closedPort, openPort } from '../support/port.ts';
import { main, runShipped, startShipped } from '../support/shipped.ts';

const stop = { hook_event_name: 'Stop', session_id: 's1', stop_hook_active: false };
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

const hook = (args: readonly string[], stdin: object) =>
  runShipped(['hook', ...args], { cwd: folder.path, stdin: JSON.stringify(stdin) });

// Opening a pipe waits for a writer, and a device has no end, so the hook would never answer.
test.each(['stopgate.yaml', '.stopgate/service.json'])(
  'does not wait for a pipe or device instead of %s',
  async (name) => {
    for (const make of ['mkfifo "$0"', 'ln -s /dev/zero "$0"']) {
      const project = await makeFolder();
      onTestFinished(() => project.remove());
      await mkdir(join(project.path, '.stopgate'));
      execFileSync('/bin/sh', ['-c', make, join(project.path, name)]);
      const at = { cwd: project.path, env: { STOPGATE_HTTP: '' } };
      expect((await runShipped(['hook', 'claude'], { ...at, stdin: JSON.stringify(stop) })).code, make).toBe(0);
      const port = await closedPort();
      const asked = await runShipped(['decide', 'w1', '--nats', `nats://${port}`], at);
      expect(asked.code, make).toBe(3);
    }
  },
);

test('--wake ends with the agent that started it', async () => {
  const { http, heard } = await openPort(null);
  const file = await folder.write('stop.json', JSON.stringify({ ...stop, session_id: 'wake-3' }));
  const line = `"${process.execPath}" "${main}" hook claude --wake --http ${http} < "${file}" & wait`;
  const agent = spawn('/bin/sh', ['-c', line], { cwd: folder.path });
  const closed = once(agent, 'close'); // when all its streams are closed
  agent.stdout.resume();
  agent.stderr.resume();
  await expect.poll(() => heard.join('')).toContain('GET /hooks/claude/wake?worker=wake-3');
  agent.kill('SIGKILL');
  await closed;
});

test('--autostart starts the service in that folder, for this call and the next', async () => {
  const project = await makeFolder({ 'stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }\n' });
  onTestFinished(() => project.remove());
  const http = await closedPort();
  const line = ['claude', '--http', http, '--autostart', project.path];
  const store = join(project.path, '.stopgate');
  const holder = async () => JSON.parse(await readFile(join(store, 'lock'), 'utf8')) as { pid: number };
  expect(await hook(line, stop)).toEqual({ code: 0, stdout: '', stderr: '' });
  const { pid } = await holder();
  expect(await hook(line, { ...stop, session_id: 's2' })).toEqual({ code: 0, stdout: '', stderr: '' });
  expect((await holder()).pid).toBe(pid);
  process.kill(pid, 'SIGTERM');
  await expect
    .poll(() =>
      holder().then(
        () => true,
        () => false,
      ),
    )
    .toBe(false);
});

test.each([
  ['claude', 'SessionEnd'],
  ['copilot', 'sessionEnd'],
  ['shell', 'end'],
])('--autostart does not start a service at the end of a session: %s', async (agent, event) => {
  const project = await makeFolder();
  onTestFinished(() => project.remove());
  const line = [agent, '--event', event, '--worker', 'w1', '--http', await closedPort(), '--autostart', project.path];
  expect((await hook([...line, '--timeout', '20s'], { session_id: 's1' })).stderr).toContain('was not judged');
  await expect(readFile(join(project.path, '.stopgate', 'service.json'))).rejects.toThrow('ENOENT');
});

// It would wait 15 s for each of the three.
test('--autostart does not wait for a service that cannot start, or listens elsewhere', {
  timeout: 40_000,
}, async () => {
  const broken = await makeFolder({ 'stopgate.yaml': 'policies: [' });
  onTestFinished(() => broken.remove());
  const busy = await makeFolder();
  onTestFinished(() => busy.remove());
  const elsewhere = startShipped(['dev', '--port', '0', '--http', '127.0.0.1:0'], { cwd: busy.path });
  onTestFinished(async () => void (await elsewhere.kill('SIGTERM')));
  await elsewhere.printed('"ready":true');
  for (const folder of [broken.path, join(broken.path, 'gone'), busy.path]) {
    const line = ['claude', '--http', await closedPort(), '--autostart', folder];
    const { code, stderr } = await hook([...line, '--timeout', '60s'], stop);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('was not judged') });
  }
});
