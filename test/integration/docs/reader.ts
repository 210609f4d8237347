/**
 * Somebody who tries what a page says: in a folder of their own, with a shell, and with the service once the page
 * starts it. Everything runs in this process but bash, curl and nats-server.
 */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect } from '@nats-io/transport-node';
import { createServices } from '../../../src/app/services.ts';
import { runCli } from '../../../src/cli/cli.ts';

import { readConfigFile } from '../../../src/config/file-reader.ts';

import { runHook } from '../../../src/hook-command/run.ts';
import { makeFolder } from '../../support/deployment.ts';
import { root } from '../../support/markdown.ts';
import { type NatsServer, startNatsServer } from '../../support/nats-server.ts';
import { type Answer, type Call, openShell } from './shell.ts';

export type Reader = {
  /** Types one line into the shell. */
  type(line: string): Promise<{ readonly code: number; readonly printed: string }>;
  /** Saves a file that the page shows under its name. */
  save(name: string, content: string): Promise<void>;
  /** Presses Ctrl-C in every terminal where something still runs, and cleans up. */
  close(): Promise<void>;
};

/** They run until Ctrl-C; the reader leaves them in a terminal of their own. */
const services = new Set(['dev', 'serve', 'runner']);
/** They ask before they change something; the reader says yes. */
const askers = new Set(['init', 'ack', 'resolve', 'retire']);
const pages = { nats: '127.0.0.1:4222', http: '127.0.0.1:4280' };
const inForceTimeoutMs = 10_000;

type Program = {
  readonly ended: Promise<number>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves at the first line on stdout, or at the end. */
  readonly spoke: Promise<unknown>;
  interrupt(): void;
};

export async function openReader(): Promise<Reader> {
  const folder = await makeFolder();
  const work = join(folder.path, 'project');
  const home = join(folder.path, 'home');
  for (const each of [work, home]) await mkdir(each, { recursive: true });
  await symlink(join(root, 'node_modules'), join(work, 'node_modules')); // as after npm install
  const running: Program[] = [];
  const servers: NatsServer[] = [];
  /** What a page calls 127.0.0.1:4222, and what it is here, where other tests run too. */
  const addresses = new Map<string, string>();

  const stopgate = async ([name = '', ...rest]: readonly string[], call: Call): Promise<Answer> => {
    if (name === 'hook') return collect((io) => runHook(rest, io), call);
    if (!services.has(name)) {
      const program = start([name, ...rest], call, askers.has(name) && !rest.includes('--yes'));
      if (name !== 'tail' && !rest.includes('--watch')) return finish(program);
      await program.spoke;
      program.interrupt();
      return { ...(await finish(program)), code: 0 };
    }
    const program = start([name, ...onFreePorts(name, rest)], call, false);
    running.unshift(program);
    const early = await Promise.race([program.spoke.then(() => null), program.ended]);
    if (early !== null) return finish(program);
    learn(addresses, rest, program.stdout());
    return { code: 0, stdout: program.stdout(), stderr: '' };
  };
  const npx = (call: Call) =>
    call.argv[0] === 'stopgate' ? stopgate(call.argv.slice(1), call) : unknown(`npx ${call.argv.join(' ')}`);
  const npm = (call: Call) =>
    call.argv[0] === 'start' ? stopgate(['dev', ...call.argv.slice(1)], call) : unknown(`npm ${call.argv.join(' ')}`);

  const natsServer = async (call: Call): Promise<Answer> => {
    if (call.argv.includes('-t')) return runProgram('nats-server', call);
    const server = await startNatsServer();
    servers.push(server);
    addresses.set(pages.nats, new URL(server.url).host);
    return { code: 0, stdout: '', stderr: '' };
  };
  const programs = { npx, npm, 'nats-server': natsServer, nats: (call: Call) => natsCommand(call, addresses) };
  const shell = await openShell({ home, cwd: work }, programs);
  let rules = await readRules(work);
  /** After whatever may have changed the file. */
  const settle = async () => {
    const now = await readRules(work);
    const http = addresses.get(pages.http);
    if (now !== rules && http !== undefined) await inForce(http, now);
    rules = now;
  };
  const type = async (line: string) => {
    const { code, printed } = await shell.run(replaceAll(line, addresses));
    await settle();
    return { code, printed: replaceAll(printed, new Map([...addresses].map(([page, here]) => [here, page]))) };
  };
  return {
    type,
    async save(name, content) {
      await writeFile(join(work, name), replaceAll(content, addresses));
      await settle();
    },
    async close() {
      for (const program of running) {
        program.interrupt();
        await program.ended;
      }
      for (const server of servers) await server.stop();
      await shell.close();
      await folder.remove();
    },
  };
}

const unknown = (what: string): Promise<Answer> =>
  Promise.resolve({ code: 127, stdout: '', stderr: `no test runs '${what}'\n` });

const ownServices = createServices();

function start(argv: readonly string[], { cwd, env, stdin }: Call, isAsked: boolean): Program {
  const controller = new AbortController();
  const changes = new EventEmitter();
  const texts = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof texts) =>
    new Writable({
      decodeStrings: false,
      write(chunk: string, _encoding, done) {
        texts[name] += chunk;
        if (name === 'stdout' && texts.stdout.includes('\n')) changes.emit('spoke');
        done();
      },
    });
  const typed = new PassThrough();
  typed.end(isAsked ? 'y\n' : stdin);
  const spoke = once(changes, 'spoke');
  const ended = runCli(
    argv,
    {
      ...{ stdout: capture('stdout'), stderr: capture('stderr'), cwd, env },
      stdin: Object.assign(typed, { isTTY: isAsked }),
      isTTY: isAsked,
      size: () => ({ columns: 200, rows: 50 }),
      interrupt: () => controller.signal,
    },
    ownServices,
  );
  return {
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    spoke: Promise.race([spoke, ended]),
    interrupt: () => controller.abort(),
  };
}

async function finish(program: Program): Promise<Answer> {
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

async function collect(
  run: (io: Parameters<typeof runHook>[1]) => Promise<number>,
  { cwd, env, stdin }: Call,
): Promise<Answer> {
  const texts = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof texts) =>
    new Writable({
      decodeStrings: false,
      write(chunk: string, _encoding, done) {
        texts[name] += chunk;
        done();
      },
    });
  const code = await run({
    ...{ stdout: capture('stdout'), stderr: capture('stderr'), cwd, env },
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
  });
  return { code, ...texts };
}

/** The real one, to its end. */
async function runProgram(name: string, { argv, cwd }: Call): Promise<Answer> {
  const child = spawn(name, argv, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: (code as number | null) ?? -1, stdout, stderr };
}

/** Other tests run beside this one, so no port of a page is taken as it is. */
function onFreePorts(name: string, argv: readonly string[]): string[] {
  if (name === 'runner') return [...argv, '--log-level', 'silent'];
  const others = argv.filter((_, index) => argv[index] !== '--http' && argv[index - 1] !== '--http');
  const own = name === 'dev' || argv.includes('--embedded') ? ['--port', '0'] : [];
  const http = argv[argv.indexOf('--http') + 1] === 'off' ? 'off' : '127.0.0.1:0';
  return [...others, ...own, '--http', http, '--log-level', 'silent'];
}

function learn(addresses: Map<string, string>, argv: readonly string[], printed: string): void {
  const line = printed.split('\n').find((it) => it.startsWith('{"ready":true'));
  const { nats, http } = JSON.parse(line ?? '{}') as { nats?: string; http?: string | null };
  const wanted = argv.includes('--http') ? (argv[argv.indexOf('--http') + 1] ?? '') : pages.http;
  if (typeof nats === 'string') addresses.set(pages.nats, new URL(nats).host);
  if (typeof http === 'string') addresses.set(wanted, new URL(http).host);
}

const replaceAll = (given: string, pairs: ReadonlyMap<string, string>): string =>
  [...pairs].reduce((result, [from, to]) => result.replaceAll(from, to), given);

/** The rules that a page has put into the folder's stopgate.yaml, as the log would hold them. */
async function readRules(folder: string): Promise<string> {
  const written = await readFile(join(folder, 'stopgate.yaml'), 'utf8').catch(() => '');
  const read = readConfigFile(written, 'stopgate.yaml');
  return read.ok ? JSON.stringify(read.file.policyForm) : '';
}

/** A reader waits the second that the page asks for; here the log says when the rules are in force. */
async function inForce(http: string, rules: string): Promise<void> {
  const signal = AbortSignal.timeout(inForceTimeoutMs);
  for (;;) {
    const reply = await fetch(`http://${http}/api/main/policy`, { signal });
    const { seq, text: now } = (await reply.json()) as { seq: number | null; text: string };
    const read = readConfigFile(now, 'stopgate.yaml');
    if (seq !== null && read.ok && JSON.stringify(read.file.policyForm) === rules) break;
    await new Promise((done) => setTimeout(done, 10));
  }
  // Stored; a read is answered once it is folded.
  await fetch(`http://${http}/api/main/list/queues`, { signal });
}

/** The NATS command line tool, as far as pages use it: any plain client does the same. */
async function natsCommand({ argv }: Call, addresses: ReadonlyMap<string, string>): Promise<Answer> {
  const [verb = '', subject = '', body = ''] = argv;
  const nc = await connect({ servers: addresses.get(pages.nats) ?? 'no service runs' });
  try {
    switch (verb) {
      case 'pub':
        nc.publish(subject, body);
        await nc.flush();
        return { code: 0, stdout: '', stderr: '' };
      case 'micro': {
        const reply = await nc.request('$SRV.PING.stopgate', '', { timeout: 5_000 });
        return { code: 0, stdout: `${reply.string()}\n`, stderr: '' };
      }
      case 'sub':
        nc.subscribe(subject);
        await nc.flush(); // rejected where it may not be heard
        return { code: 0, stdout: '', stderr: '' };
      case 'req': {
        const reply = await nc.request(subject, body, { timeout: 5_000 });
        const failed = reply.headers?.get('Nats-Service-Error-Code') ?? '';
        return { code: failed === '' ? 0 : 1, stdout: `${reply.string()}\n`, stderr: failed };
      }
      default:
        return unknown(`nats ${argv.join(' ')}`);
    }
  } finally {
    await nc.close();
  }
}
