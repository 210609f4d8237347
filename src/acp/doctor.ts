/**
 * `stopgate doctor acp -- AGENT`: does the service answer, does the agent speak ACP, and does a block keep it working?
 * Starts the agent as an editor would, with the user's account and a session in a temporary folder. A fake service
 * blocks the first stop, so the test leaves no trace in the log.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type ClientContext, client, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';
import type { AttemptFields } from '../../machines/index.ts';
import { type Answer, bad, type Finding, findingsAbout, ok, skip } from '../agents/doctor/doctor.ts';
import { lastBytes, plainText } from '../agents/shared/text.ts';
import type { Client } from '../client/index.ts';
import { AppError } from '../errors.ts';
import { withTimeout } from '../timer.ts';
import { initialized } from './messages.ts';
import { type AcpOptions, serveAcp } from './serve-acp.ts';
import type { Judgement, WorkerLink } from './worker-link.ts';

export type AcpCheck = Pick<AcpOptions, 'command' | 'cwd' | 'env' | 'signal'> & {
  /** Starts the agent and opens a session, but runs no turn. */
  readonly quick: boolean;
  /** @throws AppError */
  readonly connect: () => Promise<Client>;
};

/** Allows for a slow model, and for npm downloading the agent first. */
const stepMsMax = 90_000;
const stderrBytesMax = 300;
const prompt = 'This is a test of the connection. Reply with the one word OK, and use no tools.';
const reason =
  'stopgate doctor: this first stop is blocked to test that a block works. Reply with the one word OK again.';

export async function checkAcp(check: AcpCheck): Promise<Finding[]> {
  return [...findingsAbout('service', [await checkFleet(check)]), ...findingsAbout('acp', await tryAgent(check))];
}

async function checkFleet({ connect }: AcpCheck): Promise<Answer> {
  try {
    await using fleet = await connect();
    await fleet.listWorkers({ limit: 1 });
    return ok(`fleet ${fleet.fleet} answers over NATS`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return bad(error.message, 'start it with "stopgate dev" in the folder of your project');
  }
}

async function tryAgent({ command, cwd, env, signal, quick }: AcpCheck): Promise<Answer[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-doctor-')));
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const gate = createGate();
  let errors = '';
  const stderr = new Writable({
    write(chunk: Buffer, _encoding, done) {
      errors = lastBytes(errors + chunk.toString(), stderrBytesMax);
      done();
    },
  });
  const serving = serveAcp({
    command,
    cwd,
    env,
    signal,
    stdin,
    stdout,
    stderr,
    policy: undefined,
    open: gate.open,
    note: () => {},
  }).finally(() => stdout.end());
  // A failed start is reported by the first step.
  serving.catch(() => {});
  const agent = openEditor(stdin, stdout);
  const findings: Answer[] = [];
  const step = async (what: string, run: () => Promise<Answer>): Promise<boolean> => {
    const finding = await withTimeout(stepMsMax, run(), timedOut).catch(async (error: Error) => {
      const why = await Promise.race([
        serving.then(
          () => null,
          (cause: Error) => cause,
        ),
        setImmediate(null),
      ]);
      const text = plainText((why ?? error).message);
      const output = errors.trim() === '' ? '' : `; its stderr: ${plainText(errors)}`;
      return bad(`${what}: ${text}${output}`, fixFor(error));
    });
    findings.push(finding);
    return finding.state === 'ok';
  };
  try {
    let session = '';
    const started =
      (await step('initialize', () => initialize(agent))) &&
      (await step('session/new', async () => {
        ({ sessionId: session } = await agent.request(methods.agent.session.new, { cwd: folder, mcpServers: [] }));
        return ok('session/new: the agent opened a session');
      }));
    if (started && quick) findings.push(skip('dry turn: not run'));
    else if (started) await step('dry turn', () => takeTurn(agent, session, gate));
    return findings;
  } finally {
    stdin.end();
    await serving.catch(() => {});
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const fixFor = (error: Error): string =>
  error instanceof RequestError && error.code === RequestError.authRequired().code
    ? 'log in with the agent itself, then try again'
    : "check the agent's command; it must start the agent in ACP mode";

async function initialize(agent: ClientContext): Promise<Answer> {
  const answer = await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { agentInfo, protocolVersion } = initialized.parse(answer);
  const name = [agentInfo?.name ?? 'the agent', agentInfo?.version ?? ''].join(' ').trim();
  return ok(`initialize: ${name} speaks ACP version ${protocolVersion ?? 'unknown'}`);
}

async function takeTurn(agent: ClientContext, sessionId: string, gate: Gate): Promise<Answer> {
  const { stopReason } = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: prompt }],
  });
  const stops = gate.stops();
  if (stops >= 2) return ok('dry turn: the agent continued after its first stop was blocked, and stopped again');
  const what = stops === 0 ? `the turn ended with ${stopReason} without a stop attempt` : 'the block had no effect';
  return bad(`dry turn: ${what}`, 'this version of the agent may need a newer stopgate');
}

/** An editor without files and terminals that rejects every permission. */
function openEditor(stdin: PassThrough, stdout: PassThrough): ClientContext {
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      stdout.on('data', (chunk: Buffer) => controller.enqueue(chunk));
      stdout.on('end', () => controller.close());
    },
  });
  const app = client({ name: 'stopgate-doctor' })
    .onRequest(methods.client.session.requestPermission, ({ params: { options } }) => {
      const rejection = options.find(({ kind }) => kind === 'reject_once');
      if (rejection === undefined) return { outcome: { outcome: 'cancelled' } };
      return { outcome: { outcome: 'selected', optionId: rejection.optionId } };
    })
    .onNotification('*', () => {});
  return app.connect(ndJsonStream(Writable.toWeb(stdin) as WritableStream<Uint8Array>, readable)).agent;
}

type Gate = { readonly open: (worker: string) => WorkerLink; readonly stops: () => number };

/** A fake service: blocks the first stop and stores nothing. */
function createGate(): Gate {
  let stops = 0;
  const decide = async ({ stopReason }: AttemptFields): Promise<Judgement> => {
    if (stopReason !== 'cancelled') stops += 1;
    const base = { reason, nextPrompt: null, retry: { count: stops, max: null } };
    return stops === 1
      ? { ...base, decision: 'block', action: 'continue', cause: 'incomplete' }
      : { ...base, decision: 'allow', action: 'complete', cause: 'complete' };
  };
  return {
    stops: () => stops,
    open: (worker) => ({
      worker,
      decide,
      record: () => {},
      close: async () => {},
      obey: async () => 'stopgate: this test runs without a service.',
      view: () => Promise.reject(new AppError('actor.unknown', `there is no worker '${worker}'`)),
    }),
  };
}

function timedOut(): never {
  throw new Error(`no answer within ${stepMsMax / 1_000} s`);
}
