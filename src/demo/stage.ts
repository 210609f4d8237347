/**
 * Prepares the demo: a `stopgate dev` in a temporary folder, and connections to its NATS server as an agent and as the
 * operator.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { serveEmbedded } from '../app/dev.ts';
import { runCommandLine } from '../app/services.ts';
import { type CheckFunction, connect } from '../client/index.ts';
import { loadConfig } from '../config/config.ts';
import { readEnvironment } from '../config/environment.ts';
import { AppError } from '../errors.ts';
import { createLogger } from '../log.ts';
import { credentialsFile } from '../nats/embedded/embedded-config.ts';
import { privateInboxPrefix } from '../nats/permissions.ts';
import { openRequester, type Requester } from '../nats/requester.ts';
import type { Io } from '../terminal/process-io.ts';

/** The stopgate.yaml of the service, which the demo prints. */
export const rules = `policies:
  default: { checks: [{ plan: {} }], retries: 3 }      # every step is done
  helper:  { persistence: { hold: 1m } }               # idle: wait for a task
  careful: { checks: [{ plan: {} }], promises: true }  # may ask for a person
  tested:  { checks: [{ command: tests }] }            # the tests pass
  thrifty: { checks: [{ plan: {} }], retries: null,    # as often as it takes,
             budget: { usd: 5 }, onBudget: escalate }  #   for five dollars
  honest:  { checks: [{ git: { unchanged: [test/**] } }, # who may not edit
                      { command: sum }] }              #   the test that must pass
  shipped: { checks: [{ remote: ci }] }                # the pipeline is green
commands:
  tests: { run: [no-such-test-runner], cwd: . }        # which is not installed
  sum:   { run: [node, test/sum.mjs], cwd: worker }
`;

export type Stage = {
  /** Without credentials, like any NATS client: may publish as a worker and make requests. */
  readonly agents: Requester;
  readonly operator: Requester;
  /** The folder of the service. It may contain workers' folders. */
  readonly folder: string;
  /** Serves the check `remote: <name>` on its own connection until the stage is closed. */
  serveCheck(name: string, answer: CheckFunction): Promise<void>;
  /** The URL of hooks, API and inspector; '' without HTTP. */
  readonly page: string;
  /** Runs `stopgate` with these arguments in the service's folder. `text`: its stdout. */
  cli(...argv: string[]): Promise<{ readonly code: number; readonly text: string }>;
  /** Ends the service and its NATS server, then removes the folder. */
  close(): Promise<void>;
};

/** @throws AppError service.unreachable, server.missing and others if the service cannot start */
export async function openStage({ config = rules, http = 'off' } = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-demo-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove); // in case the process exits without `close`
  const opened: { close(): Promise<unknown> }[] = [];
  const close = async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
    remove();
    process.removeListener('exit', remove);
  };
  try {
    writeFileSync(join(folder, 'stopgate.yaml'), config);
    const { url, page, end } = await startService(folder, http);
    opened.push({ close: end });
    const client = { url, fleet: 'main', name: 'stopgate demo' };
    const agents = await openRequester(client);
    opened.push(agents);
    const credsFile = credentialsFile(join(folder, '.stopgate'), 'operator');
    const operator = await openRequester({ ...client, credsFile, inboxPrefix: privateInboxPrefix });
    opened.push(operator);
    const serveCheck: Stage['serveCheck'] = async (name, answer) => {
      const checks = await connect({ nats: url, fleet: 'main', cwd: folder, role: 'check', name: 'stopgate demo' });
      opened.push(checks);
      await checks.serveCheck(name, answer);
    };
    return { agents, operator, folder, serveCheck, page, cli: (...argv) => runIn(folder, argv), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function runIn(cwd: string, argv: readonly string[]): Promise<{ code: number; text: string }> {
  const stdout = new PassThrough();
  const printed = text(stdout);
  const io: Io = {
    stdout,
    stderr: new PassThrough().resume(),
    stdin: new PassThrough().end(),
    env: { PATH: readEnvironment().PATH },
    cwd,
    isTTY: false,
    size: () => ({ columns: 80, rows: 24 }),
    interrupt: () => new AbortController().signal,
  };
  const code = await runCommandLine(argv, io);
  stdout.end();
  return { code, text: await printed };
}

/** Starts the service and waits until it is ready. `url`: its NATS server. */
async function startService(
  folder: string,
  http: string,
): Promise<{ url: string; page: string; end: () => Promise<void> }> {
  const config = await loadConfig({ flags: { http }, cwd: folder, home: folder, env: {}, serving: true });
  const ending = new AbortController();
  const stdout = new PassThrough();
  const io: Io = {
    stdout,
    stderr: new PassThrough().resume(),
    stdin: new PassThrough(),
    env: readEnvironment(),
    cwd: folder,
    isTTY: false,
    size: () => ({ columns: 80, rows: 24 }),
    interrupt: () => ending.signal,
  };
  const logger = createLogger('silent');
  const options = { hints: false, store: undefined, port: 0, acceptEmptyLog: false, logger };
  const ended = serveEmbedded(config, options, io);
  ended.catch(() => undefined); // reported by `end`, and before that by the scenes
  const line = once(createInterface({ input: stdout }), 'line');
  const first = await Promise.race([line.then(([text]) => text as string), ended]);
  if (typeof first !== 'string') throw new AppError('service.unreachable', 'the service exited before it was ready');
  const { nats, http: page } = JSON.parse(first) as { nats: string; http: string | null };
  return {
    url: nats,
    page: page ?? '',
    async end() {
      ending.abort();
      await ended;
    },
  };
}
