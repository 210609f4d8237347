/** A permission request answered through the signed link of its notice, in the shipped service. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openReceiver, type Received, type Receiver } from '../../support/receiver.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { type Answer, ask } from '../http/request.ts';

const secret = 'a secret of the test';
/** A busy machine may need a while. */
const eventually = <T>(read: () => T) => expect.poll(read);

let receiver: Receiver;
let at: Deployment;
beforeAll(async () => {
  receiver = await openReceiver();
  const webhook = `{ url: "${receiver.url}", secretEnv: HOOK_SECRET, links: { url: "https://stop.example/gate/", by: on-call } }`;
  at = await deploy({
    config: `policies: { default: { ask: 5m } }\nescalation: { webhook: ${webhook} }\n`,
    env: { HOOK_SECRET: secret },
    args: ['--token', 'operators-only'],
  });
});
afterAll(async () => {
  await at?.close();
  await receiver?.close();
});

const permission = (session: string) =>
  ask(at.http, '/hooks/claude', {
    headers: { authorization: 'Bearer operators-only' },
    body: { ...recorded('PermissionRequest'), session_id: session },
  });
type Notice = Record<'id' | 'link' | 'delivery' | 'since' | 'until' | 'request', string>;
/** Waits for the notice about this worker, and returns it with the local address of its link. */
async function noticeOf(worker: string): Promise<Notice & { path: string }> {
  const find = () => receiver.received.find(({ body }) => body.id === worker)?.body as Notice | undefined;
  await eventually(find).toBeDefined();
  const notice = find() as Notice;
  return { ...notice, path: notice.link.replace('https://stop.example/gate', '') };
}
const html = { accept: 'text/html' };
const open = (path: string) => ask(at.http, path, { headers: { ...html, host: 'stop.example' } });
const submit = (path: string, form: string) =>
  ask(at.http, path, {
    method: 'POST',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', origin: 'https://stop.example' },
    body: form,
  });
const errorOf = ({ json }: Answer) => (json as { error: { message: string } }).error.message;
const answers = (worker: string) =>
  at.client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.input.answered`);

test('the notice is signed and has one link; opening it changes nothing, and the answer is stored with the name in the link', async () => {
  const held = permission('s1');
  const notice = await noticeOf('s1');
  expect(notice).toMatchObject({
    v: 1,
    kind: 'input',
    fleet: 'main',
    entity: 'worker',
    id: 's1',
    reason: 'asks: permission, Bash',
    tool: 'Bash',
    detail: '{"command":"touch x","description":"x"}',
    delivery: expect.stringMatching(/^main\/worker\/s1\/input\/\d+\//),
  });
  expect(Date.parse(notice.until) - Date.parse(notice.since)).toBe(300_000);
  const { headers, text } = receiver.received[0] as Received;
  const signature = createHmac('sha256', secret).update(`${headers['stopgate-timestamp']}.${text}`).digest('hex');
  expect(headers['stopgate-signature']).toBe(`sha256=${signature}`);
  for (const look of [await open(notice.path), await open(notice.path)]) {
    expect([look.status, look.headers['referrer-policy'], look.headers['cache-control']]).toEqual([
      200,
      'same-origin',
      'no-store',
    ]);
    expect(look.text).toContain('touch x');
  }
  expect((await ask(at.http, notice.path, { method: 'HEAD', headers: html })).status).toBe(200);
  expect(await answers('s1')).toEqual([]);
  expect((await submit(notice.path, 'verdict=allow&message=')).text).toContain('<h1>Allowed</h1>');
  expect((await held).json).toMatchObject({ hookSpecificOutput: { decision: { behavior: 'allow' } } });
  expect(await answers('s1')).toEqual([{ by: 'on-call', request: notice.request, verdict: 'allow' }]);
  const again = await submit(notice.path, 'verdict=deny');
  expect([again.status, again.text]).toEqual([409, expect.stringContaining('was answered by on-call: allow')]);
  expect((await open(notice.path)).text).toContain('was answered by on-call: allow');
  expect(await answers('s1')).toHaveLength(1);
  expect(at.service.stderr()).not.toMatch(/signature=|a secret of the test/);
});

test('a program may answer as JSON, with a message for the model', async () => {
  const held = permission('s2');
  const { path } = await noticeOf('s2');
  expect((await ask(at.http, path)).json).toMatchObject({ worker: 's2', by: 'on-call', input: { tool: 'Bash' } });
  const bad = await ask(at.http, path, { body: { verdict: 'perhaps' } });
  expect([bad.status, errorOf(bad)]).toEqual([400, expect.stringContaining('verdict')]);
  const answer = await ask(at.http, path, { body: { verdict: 'deny', message: 'Not on main' } });
  expect([answer.status, answer.json]).toEqual([200, { worker: 's2', verdict: 'deny', by: 'on-call' }]);
  expect((await held).json).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'deny', message: 'Not on main' } },
  });
});

test('a question is shown with its choices, and needs one, several or a text as its answer', async () => {
  const choice = (label: string) => ({ label, description: `that is ${label}` });
  const questions = [
    { question: 'Which <key>?', header: 'Key', multiSelect: false, options: [choice('Old'), choice('New')] },
    { question: 'Where?', header: 'Where', multiSelect: true, options: [choice('x'), choice('y')] },
  ];
  const body = { ...recorded('PermissionRequest'), session_id: 's6', tool_name: 'AskUserQuestion' };
  const headers = { authorization: 'Bearer operators-only' };
  const held = ask(at.http, '/hooks/claude', { headers, body: { ...body, tool_input: { questions } } });
  const { path } = await noticeOf('s6');
  const { text } = await open(path);
  for (const part of [
    'Which &lt;key&gt;?',
    'type="radio" name="choice-0" value="New"',
    'type="checkbox" name="choice-1" value="y"',
  ])
    expect(text).toContain(part);
  const short = await submit(path, 'verdict=allow&message=&choice-0=New&own-0=&own-1=');
  expect([short.status, short.text]).toEqual([400, expect.stringMatching(/<h1>Not answered[\s\S]*Where\?/)]);
  expect(await answers('s6')).toEqual([]);
  const given = await submit(path, 'verdict=allow&message=&choice-0=New&own-0=&choice-1=x&choice-1=y&own-1=not+z');
  expect(given.text).toContain('<h1>Allowed</h1>');
  const expected = { 'Which <key>?': 'New', 'Where?': 'x, y, not z' };
  expect((await held).json).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'allow', updatedInput: { questions, answers: expected } } },
  });
  expect(await answers('s6')).toMatchObject([{ by: 'on-call', verdict: 'allow', message: JSON.stringify(expected) }]);
});

test('an altered, incomplete or foreign link is refused with a message', async () => {
  const held = permission('s3');
  const { path } = await noticeOf('s3');
  const query = (change: (it: URLSearchParams) => void) => {
    const changed = new URLSearchParams(path.split('?')[1]);
    change(changed);
    return `/answer?${changed}`;
  };
  const changes: ((it: URLSearchParams) => void)[] = [
    ...['fleet', 'worker', 'request', 'by'].map((name) => (it: URLSearchParams) => it.set(name, 'other')),
    ...['seq', 'expires'].map((name) => (it: URLSearchParams) => it.set(name, `${it.get(name)}0`)),
    ...['fleet', 'seq', 'signature'].map((name) => (it: URLSearchParams) => it.delete(name)),
    (it) => it.append('worker', 's4'),
    (it) => it.set('signature', `${it.get('signature')?.slice(0, -4)}AAAA`),
  ];
  for (const change of changes) {
    const refused = await submit(query(change), 'verdict=allow');
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('this link is incomplete')]);
    expect((await ask(at.http, query(change))).status).toBe(401);
  }
  expect(await answers('s3')).toEqual([]);
  await submit(path, 'verdict=deny');
  await held;
});

test('an old link does not answer a new request with the same id', async () => {
  const held = permission('s5');
  const asked = await noticeOf('s5');
  await at.client.publish('worker.s5.input.requested', { request: asked.request, tool: 'Bash', detail: 'rm -rf /' });
  const view = async () => (await at.client.ask('get.worker.s5')).body as unknown as WorkerView;
  await eventually(async () => (await view()).inputs[0]?.detail).toBe('rm -rf /');
  const late = await submit(asked.path, 'verdict=allow');
  expect([late.status, late.text]).toEqual([409, expect.stringContaining('now asks something else')]);
  expect((await open(asked.path)).text).toContain('no longer waits for this answer');
  await at.client.publish('worker.s5.input.received', {});
  await held;
});
