/**
 * Imitates a reader who tries a page in an empty folder with a shell, and with the service once the page
 * starts it. Only bash, curl, node and nats-server run as other processes.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfigFile } from '../../src/config/file-reader.ts';
import { makeFolder } from '../support/deployment.ts';
import { root } from '../support/markdown.ts';
import type { NatsServer } from '../support/nats-server.ts';
import { openNats } from '../support/shared-server.ts';
import { runNats } from './nats-command.ts';
import { isEndless, isService, type Program, runHookCommand, startProgram } from './program.ts';
import { type Answer, type Call, openShell } from './shell.ts';

export type Reader = {
  /** Types one line into the shell. */
  type(line: string): Promise<{ readonly code: number; readonly printed: string }>;
  /** Saves a file that the page shows under its name. */
  save(name: string, content: string): Promise<void>;
  /** Presses Ctrl-C in every terminal with a running command, and cleans up. */
  close(): Promise<void>;
};

/** The addresses on the pages, and those of this test. They differ, because other tests run at the same time. */
type Addresses = Map<string, string>;

const pageAddress = { nats: '127.0.0.1:4222', http: '127.0.0.1:4280' };
const inForceTimeoutMs = 60_000;

export async function openReader(): Promise<Reader> {
  const folder = await makeFolder();
  const work = join(folder.path, 'project');
  const home = join(folder.path, 'home');
  for (const each of [work, home]) await mkdir(each, { recursive: true });
  await symlink(join(root, 'node_modules'), join(work, 'node_modules')); // as after npm install
  const addresses: Addresses = new Map();
  const terminals = openTerminals(addresses);
  const shell = await openShell({ home, cwd: work }, terminals.programs);
  let rules = await readRules(work);
  /** Waits until a change of stopgate.yaml is in force. */
  const settle = async () => {
    const now = await readRules(work);
    const http = addresses.get(pageAddress.http);
    if (now !== rules && http !== undefined) await inForce(http, now);
    rules = now;
  };
  return {
    async type(line) {
      const { code, printed } = await shell.run(replaceAll(line, [...addresses]));
      await settle();
      return {
        code,
        printed: replaceAll(
          printed,
          [...addresses].map(([page, here]) => [here, page]),
        ),
      };
    },
    async save(name, content) {
      await writeFile(join(work, name), replaceAll(content, [...addresses]));
      await settle();
    },
    async close() {
      await terminals.close();
      await shell.close();
      await folder.remove();
    },
  };
}

/** Runs the programs of the shell, and knows which are still running. */
function openTerminals(addresses: Addresses) {
  const running: Program[] = [];
  const servers: NatsServer[] = [];
  const stopgate = async (argv: readonly string[], call: Call): Promise<Answer> => {
    const [name = '', ...rest] = argv;
    if (name === 'hook') return runHookCommand(rest, call);
    if (isService(name)) return serve(name, rest, call);
    const program = startProgram(argv, call);
    if (!isEndless(argv)) return program.ended;
    await program.spoke;
    program.interrupt();
    return { ...(await program.ended), code: 0 };
  };
  const serve = async (name: string, argv: readonly string[], call: Call): Promise<Answer> => {
    const program = startProgram([name, ...onFreePorts(name, argv)], call);
    running.unshift(program);
    const early = await Promise.race([program.spoke.then(() => null), program.ended]);
    if (early !== null) return early;
    learn(addresses, argv, program.stdout());
    return { code: 0, stdout: program.stdout(), stderr: '' };
  };
  const programs = {
    npx: async (call: Call) =>
      call.argv[0] === 'stopgate' ? stopgate(call.argv.slice(1), call) : unknown('npx', call),
    npm: async (call: Call) => (call.argv[0] === 'start' ? stopgate(['dev'], call) : unknown('npm', call)),
    nats: (call: Call) => runNats(call, addresses.get(pageAddress.nats) ?? 'no server runs'),
    async 'nats-server'(call: Call): Promise<Answer> {
      if (call.argv.includes('-t')) return checkServerConfig(call);
      const server = await openNats();
      servers.push(server);
      addresses.set(pageAddress.nats, new URL(server.url).host);
      return { code: 0, stdout: '', stderr: '' };
    },
  };
  return {
    programs,
    async close() {
      for (const program of running) {
        program.interrupt();
        await program.ended;
      }
      for (const server of servers) await server.stop();
    },
  };
}

const unknown = (program: string, { argv }: Call): Answer => ({
  code: 127,
  stdout: '',
  stderr: `no test runs '${program} ${argv.join(' ')}'\n`,
});

const checkServerConfig = ({ argv, cwd }: Call): Promise<Answer> =>
  new Promise((done) =>
    execFile('nats-server', argv, { cwd }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : 1, stdout, stderr }),
    ),
  );

function onFreePorts(name: string, argv: readonly string[]): string[] {
  if (name === 'runner') return [...argv, '--log-level', 'silent'];
  const others = argv.filter((_, index) => argv[index] !== '--http' && argv[index - 1] !== '--http');
  const own = name === 'dev' || argv.includes('--embedded') ? ['--port', '0'] : [];
  return [...others, ...own, '--http', '127.0.0.1:0', '--log-level', 'silent'];
}

/** Reads the addresses from the ready line. */
function learn(addresses: Addresses, argv: readonly string[], printed: string): void {
  const { nats, http } = JSON.parse(printed.split('\n', 1)[0] ?? '') as { nats: string; http?: string | null };
  const wanted = argv.includes('--http') ? (argv[argv.indexOf('--http') + 1] ?? '') : pageAddress.http;
  addresses.set(pageAddress.nats, new URL(nats).host);
  if (typeof http === 'string') addresses.set(wanted, new URL(http).host);
}

const replaceAll = (given: string, pairs: readonly (readonly [from: string, to: string])[]): string =>
  pairs.reduce((result, [from, to]) => result.replaceAll(from, to), given);

/** Returns the rules in the folder's stopgate.yaml, in the form of the log. */
async function readRules(folder: string): Promise<string> {
  const written = await readFile(join(folder, 'stopgate.yaml'), 'utf8').catch(() => '');
  const read = readConfigFile(written, 'stopgate.yaml');
  return read.ok ? JSON.stringify(read.file.policyForm) : '';
}

/** Waits until the log contains the rules. A reader waits a second, as the page says. */
async function inForce(http: string, rules: string): Promise<void> {
  const signal = AbortSignal.timeout(inForceTimeoutMs);
  for (;;) {
    const reply = await fetch(`http://${http}/api/main/policy`, { signal });
    const { seq, text: now } = (await reply.json()) as { seq: number | null; text: string };
    const read = readConfigFile(now, 'stopgate.yaml');
    if (seq !== null && read.ok && JSON.stringify(read.file.policyForm) === rules) break;
    await new Promise((done) => setTimeout(done, 10));
  }
  await fetch(`http://${http}/api/main/list/queues`, { signal }); // stored; reads are answered after it is folded
}
