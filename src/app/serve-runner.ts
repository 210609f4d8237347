/**
 * `stopgate runner`: serves `command`, `files`, `git` and `judge` checks of its own stopgate.yaml, next to a workspace
 * (protocol.md §8).
 */
import { readJson, slotTimeoutMs } from '../../machines/index.ts';
import type { Config } from '../config/config.ts';
import type { ConfigFile } from '../config/file.ts';
import { followConfigFile } from '../config/follow-config-file.ts';
import { defaultCredentials } from '../config/store.ts';
import { AppError } from '../errors.ts';
import { runRequestSchema } from '../host/effects/run-request.ts';
import type { Logger } from '../log.ts';
import { openConnection } from '../nats/connection.ts';
import { newId } from '../nats/id.ts';
import { openRequestServer, type Request, replyLater } from '../nats/request-server.ts';
import type { TimedReply } from '../runner/reply.ts';
import { createReloadingRunner, type Runner } from '../runner/runner.ts';
import type { Io } from '../terminal/process-io.ts';
import { startTimedSignal } from '../timer.ts';
import { version } from '../version.ts';
import { createEnd, withoutSecrets } from './process-end.ts';

export type ServeRunnerOptions = {
  readonly config: Config;
  readonly name: string;
  readonly logger: Logger;
  readonly io: Io;
};

/** @returns the exit code. @throws AppError service.unreachable */
export async function serveRunner({ config, name, logger, io }: ServeRunnerOptions): Promise<number> {
  const { untilEnd } = createEnd(io, logger);
  const { fleet, nats } = config;
  const credsFile = defaultCredentials(config, 'runner');
  const nc = await openConnection({ url: nats, credsFile, name: `stopgate runner ${name}`, patient: true });
  const checks = createReloadingRunner(config, io.env, logger);
  const answering = createAnswering(name, checks, config.file);
  for (const warning of config.warnings) logger.warn(warning);
  const following = followConfigFile(config, logger, ({ file }) => {
    checks.configure(file);
    answering.configure(file);
  });
  const requests = openRequestServer({
    nc,
    service: { name: 'stopgate-runner', description: `runs checks next to a workspace, as ${name}`, group: name },
    id: `${name}-${newId()}`,
    version: version(),
    log: logger,
  });
  const subject = `stopgate.${fleet}.run.${name}`;
  const serving = requests.serve([{ name: 'run', subject, exact: true, handle: replyLater(answering.answer) }]);
  try {
    await nc.flush();
    const [refused] = serving.refused();
    if (refused !== undefined) {
      const hint = 'it needs the credentials of a runner of this name ("stopgate permissions --role runner")';
      throw new AppError('input.unauthorized', `the NATS server does not let this runner serve ${refused}: ${hint}`);
    }
    io.stdout.write(`${JSON.stringify({ ready: true, runner: name, nats: withoutSecrets(nats), fleet })}\n`);
    return await untilEnd(nc.closed().then(() => 'the connection is closed for good'));
  } finally {
    following.close();
    requests.close();
    answering.close();
    await checks.close(); // answers open requests, before the connection closes
    await nc.drain().catch(() => nc.close());
  }
}

/** A check that still waits for a slot after this margin is not started: its requester has given up. */
const graceMs = 2_000;

function createAnswering(name: string, runner: Pick<Runner, 'run'>, first: ConfigFile) {
  let { commands } = first;
  let closed = false;
  return {
    configure(file: ConfigFile) {
      commands = file.commands;
    },
    close() {
      closed = true;
    },
    async answer({ text, started }: Request): Promise<TimedReply> {
      const request = readRequest(text);
      const ownMs = request.kind === 'command' ? commands[request.name]?.timeoutMs : undefined;
      const timeoutMs = timeoutOf(request.timeoutMs, ownMs ?? null);
      const late = startTimedSignal(slotTimeoutMs + (request.timeoutMs ?? Number.POSITIVE_INFINITY) + graceMs);
      const result = await runner.run({ ...request, timeoutMs }, late.signal, started).finally(late.clear);
      return closed && result.reason === 'cancelled' ? { ...result, reason: `runner ${name} was stopped` } : result;
    },
  };
}

/** Half a second for a command to end after its timeout, plus the way of the answer. */
const reserveMsMax = 1_500;

/** A request may shorten a command's own timeout, but never extend it. */
function timeoutOf(requestedMs: number | null, ownMs: number | null): number | null {
  if (requestedMs === null) return ownMs;
  const inTimeMs = Math.ceil(requestedMs - Math.min(reserveMsMax, requestedMs / 4));
  return Math.min(inTimeMs, ownMs ?? inTimeMs);
}

/** @throws AppError input.bad */
function readRequest(text: string) {
  const parsed = readJson(text);
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  const { data, error } = runRequestSchema.safeParse(parsed.value);
  if (data !== undefined) return data;
  const issues = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const first = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  throw new AppError('input.bad', `this is not a runner request: ${first}`, { issues });
}
