/** post.pl, which hooks of the form `perl` run: posts what comes on stdin, and prints the answer. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../support/deployment.ts';
import { type LoopbackServer, openLoopbackServer } from '../../support/loopback-server.ts';
import { closedPort, openPort } from '../../support/port.ts';

const script = fileURLToPath(new URL('../../../src/hook-command/post.pl', import.meta.url));
type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Under `strict` and with warnings that end it, which it does not load itself. */
async function post(
  url: string,
  { stdin = '{}', env = {}, seconds = 20, variable = [] as string[] } = {},
): Promise<Ended> {
  const args = ['-Mstrict', '-Mwarnings=FATAL,all', script, String(seconds), url, ...variable];
  const running = promisify(execFile)('perl', args, {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', ...env },
  });
  running.child.stdin?.on('error', () => undefined).end(stdin);
  const ended = await running.catch((error: Ended) => error);
  return { code: (ended as Partial<Ended>).code ?? 0, stdout: ended.stdout, stderr: ended.stderr };
}

/** Answers with what it was sent. */
async function openEcho(): Promise<LoopbackServer> {
  const server = await openLoopbackServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const sent = [method, url, headers.host, headers['content-type'], headers.authorization ?? 'no token'];
      response.end(`${sent.join(' ')}\n${Buffer.concat(chunks).toString()}`);
    });
  });
  onTestFinished(() => server.close());
  return server;
}

test.each([
  ['a number', '127.0.0.1', {}],
  ['a name', 'localhost', {}],
  ['a number, where Perl is set to decode what it reads', '127.0.0.1', { PERL_UNICODE: 'SDA' }],
])('a call and its answer pass unchanged, to %s', async (_to, host, env) => {
  const { origin } = await openEcho();
  const port = origin.split(':').at(-1);
  const stdin = JSON.stringify({ text: 'ü€\u0000 \r\n\r\n'.repeat(40_000) });
  const ended = await post(`http://${host}:${port}/hooks/codex?event=Stop`, { stdin, env });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout === `POST /hooks/codex?event=Stop ${host}:${port} application/json no token\n${stdin}`).toBe(
    true,
  );
});

test('a token is taken from the variable that is named', async () => {
  const { origin } = await openEcho();
  const ended = await post(`${origin}/hooks/codex`, { variable: ['MY_TOKEN'], env: { MY_TOKEN: 'secret' } });
  expect(ended.stdout).toContain(' Bearer secret\n{}');
  expect((await post(`${origin}/hooks/codex`, { variable: ['MY_TOKEN'] })).stdout).toContain(' no token\n{}');
});

const answers: readonly [what: string, answer: string, code: number][] = [
  ['nothing to print', 'HTTP/1.1 204 No Content\r\n\r\n', 0],
  ['a call that is refused', 'HTTP/1.1 404 Not Found\r\n\r\n{"error":{}}', 22],
  ['a service that fails', 'HTTP/1.1 503 Service Unavailable\r\n\r\n{"error":{}}', 22],
  ['an answer that is cut off', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"deci', 18],
  ['what is no HTTP', 'INFO {}\r\n', 52],
  ['no answer', '', 52],
];

// What is lost on its way is posted again for two seconds: all wait at the same time.
test('without an answer to print it ends with the code that curl has for it', async () => {
  const ended = answers.map(async ([what, answer]) => {
    const { http } = await openPort(answer);
    return { what, ...(await post(`http://${http}/hooks/codex`)) };
  });
  expect(await Promise.all(ended)).toEqual(answers.map(([what, , code]) => ({ what, code, stdout: '', stderr: '' })));
});

test('a call that the service does not read to its end is refused by the answer', async () => {
  const { http } = await openPort('HTTP/1.1 413 Content Too Large\r\n\r\n');
  const { code } = await post(`http://${http}/hooks/codex`, { stdin: 'x'.repeat(8_000_000) });
  // A connection that is reset may lose the answer on its way.
  expect([22, 52]).toContain(code);
});

test.each([
  ['no service', async () => `http://${await closedPort()}/hooks/codex`, 20, 7],
  ['no answer in time', async () => `http://${(await openPort(null)).http}/hooks/codex`, 1, 28],
  ['TLS, which it does not speak', async () => 'https://127.0.0.1:1/hooks/codex', 20, 2],
  ['no path', async () => 'http://127.0.0.1:1', 20, 2],
])('%s', async (_what, urlOf, seconds, code) => {
  expect(await post(await urlOf(), { seconds })).toMatchObject({ code, stdout: '' });
});

test('a name whose lookup takes too long', async () => {
  // The alarm comes in the middle of it. A handler of Perl's own would wait for its end.
  const folder = await makeFolder({
    'Socket.pm': 'package Socket; sub SOCK_STREAM { 1 } sub getaddrinfo { kill ALRM => $$; exit 9 } 1;',
  });
  onTestFinished(() => folder.remove());
  const line = `perl '${script}' 20 http://localhost:1/hooks/codex 2>/dev/null || printf 'ended with %s' $?`;
  const running = promisify(execFile)('/bin/sh', ['-c', line], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', PERL5LIB: folder.path },
  });
  running.child.stdin?.end('{}');
  expect((await running).stdout).toBe('ended with 142');
});
