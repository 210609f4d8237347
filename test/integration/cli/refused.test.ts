/** A failure of the environment (server, credentials, folder, port, file) prints one line with the next step. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import { clear, type Dev, startDev } from '../../support/dev.ts';
import { endService } from '../../support/service.ts';
import { openNats } from '../../support/shared-server.ts';

/** Starts a separate service, because only the embedded server has accounts. */
let folder: Folder;
let dev: Dev;
let elsewhere: Folder;
let locked: Awaited<ReturnType<typeof openNats>>;
let stranger: Server;
beforeAll(async () => {
  folder = await makeFolder();
  dev = await startDev(folder);
  await runCommand(['publish', 'worker', 'w1', 'heartbeat.sent'], { cwd: folder.path });
  elsewhere = await makeFolder({
    'not-creds.txt': 'hello',
    'half.json': '{ "user": "x"',
    'broken.yaml': 'polices: {}',
  });
  await mkdir(join(elsewhere.path, 'a folder'));
  await writeFile(join(elsewhere.path, 'cut.jsonl.gz'), gzipSync('\n'.repeat(1_000_000)).subarray(0, 200));
  locked = await openNats({ args: ['--user', 'ann', '--pass', 'right'] });
  stranger = createServer((socket) => socket.destroy());
  await new Promise<void>((done) => stranger.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  stranger.close();
  await locked.stop();
  await endService(dev);
  await clear(folder);
  await elsewhere.remove();
});

const embedded = () => dev.ready.nats;
const operator = () => join(folder.path, '.stopgate', 'credentials', 'operator.json');
const strangerPort = () => String((stranger.address() as { port: number }).port);
const portOf = (url: string) => new URL(url).port;

type Row = readonly [what: string, code: number, says: string | RegExp, argv: () => string[]];
const rows: readonly Row[] = [
  [
    'no server',
    3,
    'connection refused; start one with "npx stopgate dev"',
    () => ['decide', 'w1', '--nats', 'nats://127.0.0.1:1'],
  ],
  ['no host', 3, `there is no host 'no-such-host.invalid'`, () => ['workers', '--nats', 'nats://no-such-host.invalid']],
  [
    'a link-local address',
    3,
    /a link-local address needs an interface, .*; use the server's host name/,
    () => ['workers', '--nats', 'nats://[fe80::1]:4222'],
  ],
  ['no NATS there', 3, 'no NATS server at', () => ['workers', '--nats', `nats://127.0.0.1:${strangerPort()}`]],
  [
    'no TLS there',
    3,
    `has no TLS: use nats:// for it`,
    () => ['decide', 'w1', '--nats', embedded().replace('nats:', 'tls:')],
  ],
  ['no NATS URL', 2, 'is not a NATS URL such as nats://', () => ['decide', 'w1', '--nats', dev.ready.http]],
  [
    'a wrong password',
    3,
    'refused the credentials of the URL',
    () => ['decide', 'w1', '--nats', `nats://ann:wrong@127.0.0.1:${locked.port}`],
  ],
  ['no password', 3, 'requires credentials: name a file with --creds', () => ['decide', 'w1', '--nats', locked.url]],
  [
    'a wrong file',
    3,
    /refused the credentials of '.*operator\.json'/,
    () => ['tail', '--nats', locked.url, '--creds', operator()],
  ],
  ['no such file', 2, 'there is no such file', () => ['decide', 'w1', '--nats', embedded(), '--creds', 'gone.creds']],
  [
    'no credentials file',
    2,
    'is not a NATS credentials file',
    () => ['decide', 'w1', '--nats', embedded(), '--creds', 'not-creds.txt'],
  ],
  ['half a file', 2, 'has no "user" and "pass"', () => ['decide', 'w1', '--nats', embedded(), '--creds', 'half.json']],
  ['tail as an agent', 2, /does not let us publish .*operator's credentials/, () => ['tail', '--nats', embedded()]],
  ['replay as an agent', 2, `operator's credentials`, () => ['replay', '--fleet', 'main', '--nats', embedded()]],
  ['export as an agent', 2, `operator's credentials`, () => ['export', '--nats', embedded()]],
  ['explain as an agent', 2, `operator's credentials`, () => ['explain', 'w1', '--nats', embedded()]],
  ['retire as an agent', 2, `operator's credentials`, () => ['retire', 'w1', '--yes', '--nats', embedded()]],
  ['audit as an agent', 2, `operator's credentials`, () => ['audit', '--nats', embedded()]],
  ['snapshot as an agent', 2, "pass an operator's with --creds", () => ['snapshot', '--nats', embedded()]],
  ['serve as an agent', 2, 'name credentials of the service', () => ['serve', '--http', 'off', '--nats', embedded()]],
  [
    'serve as an operator',
    2,
    'name credentials of the service',
    () => ['serve', '--http', 'off', '--nats', embedded(), '--creds', operator()],
  ],
  [
    'a fleet without a service',
    3,
    /no stopgate service serves|no answer within/,
    () => ['workers', '--fleet', 'nobody', '--nats', embedded(), '--timeout', '300ms'],
  ],
  [
    'a fleet without a log',
    1,
    'no service has ever served this fleet',
    () => ['replay', '--fleet', 'nobody', '--nats', embedded(), '--creds', operator()],
  ],
  ['a store that is a file', 2, /'.*not-creds.txt'/, () => ['dev', '--http', 'off', '--store', 'not-creds.txt']],
  [
    'a store below a file',
    2,
    'a part of the path is a file',
    () => ['dev', '--http', 'off', '--store', 'not-creds.txt/store'],
  ],
  [
    'a store in use',
    2,
    'another stopgate (process',
    () => ['dev', '--http', 'off', '--store', join(folder.path, '.stopgate')],
  ],
  [
    'a NATS port in use',
    2,
    'is taken by another process; choose another one',
    () => ['dev', '--http', 'off', '--store', 'a folder/s', '--port', portOf(embedded())],
  ],
  [
    `another stopgate's HTTP port`,
    2,
    /\(another stopgate has it\); choose another address with --http, e\.g\. --http 127\.0\.0\.1:[1-9]/,
    () => ['dev', '--port', '0', '--store', 'a folder/t', '--http', `127.0.0.1:${portOf(dev.ready.http)}`],
  ],
  [
    `a stranger's HTTP port`,
    2,
    /\(another program has it\); choose another address with --http, e\.g\. --http 127\.0\.0\.1:[1-9]/,
    () => ['dev', '--port', '0', '--store', 'a folder/u', '--http', `127.0.0.1:${strangerPort()}`],
  ],
  [
    `a second start of this folder's dev`,
    2,
    'another stopgate (process',
    () => ['dev', '--store', join(folder.path, '.stopgate'), '--http', `127.0.0.1:${portOf(dev.ready.http)}`],
  ],
  [
    'an address of no interface',
    2,
    '--http',
    () => ['dev', '--port', '0', '--store', 'a folder/v', '--token', 't', '--http', '203.0.113.1:0'],
  ],
  [
    'a token in the URL that is wrong',
    3,
    'refused the credentials of the URL',
    () => ['workers', '--nats', `nats://token@127.0.0.1:${portOf(embedded())}`],
  ],
  ['no such configuration', 2, /cannot read '.*gone.yaml'/, () => ['serve', '--config', 'gone.yaml']],
  [
    'a broken configuration',
    2,
    'broken.yaml:1:1: unknown key "polices"; did you mean "policies"?',
    () => ['serve', '--config', 'broken.yaml'],
  ],
  ['the check of a broken one', 2, 'unknown key "polices"', () => ['check', 'broken.yaml']],
  ['the check of none', 2, 'there is no such file; write one (docs/policies.md)', () => ['check']],
  ['a log that is a folder', 2, 'contains no .jsonl or .jsonl.gz files', () => ['replay', 'a folder']],
  ['a log that is not there', 2, 'there is no such file', () => ['replay', 'gone.jsonl']],
  ['a packed log that was cut', 2, 'it is truncated', () => ['replay', 'cut.jsonl.gz']],
  ['a log of something else', 2, 'line 1:', () => ['replay', 'not-creds.txt']],
];

describe('prints one line, and nothing on stdout', () => {
  test.each(rows)('%s: exit code %i', async (_what, expected, says, argv) => {
    const { code, stdout, stderr } = await runCommand(argv(), { cwd: elsewhere.path });
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(lines.join('\n')).toMatch(says);
    expect({ code, stdout, lines: lines.length }).toEqual({ code: expected, stdout: '', lines: 1 });
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

test('dev reports a taken HTTP port before it starts a NATS server or creates its store', async () => {
  const http = `127.0.0.1:${strangerPort()}`;
  const { code, stderr } = await runCommand(['dev', '--port', '0', '--http', http], { cwd: elsewhere.path });
  expect(code).toBe(2);
  expect(stderr).not.toContain('nats-server started');
  expect(existsSync(join(elsewhere.path, '.stopgate'))).toBe(false);
});

test('a folder with spaces and quotes in its name works', async () => {
  const odd = join(elsewhere.path, `it's "odd" \u00fc`);
  await mkdir(odd);
  await writeFile(join(odd, 'stopgate.yaml'), 'policies: { default: { checks: [{ plan: {} }] } }');
  const checked = await runCommand(['check'], { cwd: odd });
  expect(checked).toMatchObject({ code: 0, stdout: 'stopgate.yaml is valid: 1 policy (default), 0 commands\n' });
});

test('check reports what keeps a service from starting on this machine, and notes it for others', async () => {
  const folder = join(elsewhere.path, 'not-here');
  await mkdir(folder);
  const file = 'tokens: { ci: { role: read, env: NO_SUCH_TOKEN } }\ntls: { cert: none.crt, key: none.key }\n';
  await writeFile(join(folder, 'stopgate.yaml'), `policies: { default: {} }\n${file}`);
  const refused = await runCommand(['check'], { cwd: folder });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  const { code, stderr } = await runCommand(['check', '--elsewhere'], { cwd: folder });
  expect(code).toBe(0);
  const notes = stderr.split('\n').filter((line) => line.endsWith('; the service will not start here'));
  expect(notes).toEqual(
    ['"NO_SUCH_TOKEN" is not set', "none.crt'", "none.key'"].map((text) => expect.stringContaining(text)),
  );
});

test('check notes the programs of commands that this machine does not have', async () => {
  const folder = join(elsewhere.path, 'mistyped');
  await mkdir(folder);
  const commands = '{ test: { run: [nmp, test] }, own: { run: [./check.sh] }, node: { run: [node, --test] } }';
  await writeFile(join(folder, 'stopgate.yaml'), `policies: { default: {} }\ncommands: ${commands}\n`);
  const { code, stderr } = await runCommand(['check'], { cwd: folder });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: "note: commands.test: there is no program 'nmp' on the PATH of this machine\n",
  });
});

test.each([
  [
    'policies of which none is the default',
    'policies: { Default: {} }',
    'no policy is named "default": a worker for which none is chosen may always stop',
  ],
  [
    'a timeout in seconds without a unit',
    'policies: { default: { checks: [{ command: node, timeout: 9 }] } }\ncommands: { node: { run: [node], timeout: 5 } }',
    'commands.node: its timeout is 5 ms; write 5s for seconds\nnote: check node of policy default: its timeout is 9 ms; write 9s for seconds',
  ],
  [
    'a folder that is not there',
    'policies: { default: {} }\ncommands: { node: { run: [node], cwd: nowhere } }',
    /^note: commands\.node: there is no folder '\S+nowhere' on this machine$/,
  ],
])('check notes %s', async (_what, text, noted) => {
  const folder = await mkdtemp(join(elsewhere.path, 'noted-'));
  await writeFile(join(folder, 'stopgate.yaml'), `${text}\n`);
  const { code, stderr } = await runCommand(['check'], { cwd: folder });
  expect(code).toBe(0);
  if (typeof noted === 'string') expect(stderr).toBe(`note: ${noted}\n`);
  else expect(stderr.trim()).toMatch(noted);
});

test.each([
  ['HTTP that others reach, without a token', 'http: 0.0.0.0:4280\n', 'needs a token'],
  [
    'HTTP behind a proxy, without a token',
    'publicUrl: https://stopgate.example.com\n',
    'stopgate.yaml:1:12: others reach HTTP at https://stopgate.example.com, so it needs a token',
  ],
  [
    'a time to keep entries that lacks its unit',
    'retain: { for: 30 }\n',
    'would keep entries for 30 ms only: write at least 1s, such as 30d',
  ],
  [
    'runner and runners',
    'policies: { a: { runner: r, runners: [s] } }\n',
    'stopgate.yaml:1:38: runner and runners exclude each other',
  ],
  [
    'files outside',
    'policies: { a: { checks: [{ any: [{ files: [a.md, /etc/passwd] }, { files: [x/../../b] }] }] } }\n',
    'stopgate.yaml:1:51: "/etc/passwd" is outside of every worker\'s folder',
  ],
  [
    'a broken escape',
    'escalation: { webhook: { url: "http://us%er@h/" } }\n',
    'stopgate.yaml:1:31: the user or password',
  ],
  ['UTF-16', Buffer.from('\uFEFFpolicies: {}\n', 'utf16le'), 'the file is UTF-16'],
  ['what is no file', null, "cannot read 'stopgate.yaml': it is a folder"],
])('check and serve refuse %s', async (what, text, says) => {
  const folder = join(elsewhere.path, `refuses ${what}`);
  await mkdir(text === null ? join(folder, 'stopgate.yaml') : folder, { recursive: true });
  if (text !== null) await writeFile(join(folder, 'stopgate.yaml'), text);
  const checked = await runCommand(['check'], { cwd: folder });
  expect(checked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
  const started = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1'], { cwd: folder });
  expect(started).toMatchObject({ code: 2, stdout: '' });
  expect(started.stderr).toContain(text === null ? 'it is a folder' : says);
});
