/**
 * The hook command: reads one call of an agent on stdin, posts it to the service and prints the answer on stdout. If
 * anything fails, the agent gets an answer that lets it continue, unless the user asked for a block: a hook must not
 * break the agent. Uses only a few of Node's own modules, because agents run it at every tool call.
 */

import type { Readable, Writable } from 'node:stream';
import { describeStopped } from '../service-file.ts';
import { decodeBody, withoutBareNumbers } from '../text/body-text.ts';
import { type Answer, answerTimeoutMs, eventTimeoutMs, notJudged, unjudgedText } from './agent.ts';
import { type HookOptions, type HookWaits, readOptions } from './options.ts';
import { newKey, nowMs, type Posted, post, postAgain } from './post.ts';

export type HookIo = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Overrides the default waits. */
  readonly waits?: Partial<HookWaits>;
};

/** The service accepts no larger bodies. */
const bodyBytesMax = 16 * 1024 * 1024;

/** Runs as a process: exits as soon as its answer is written, even if handles are still open. */
export async function runHookProcess(argv: readonly string[], env: HookIo['env']): Promise<never> {
  const { stdin, stdout } = process;
  // If the reader is gone, there is nobody to report errors to.
  const ignore = () => undefined;
  stdout.on('error', ignore);
  const code = await runHook(argv, {
    stdin,
    stdout,
    env,
    cwd: currentFolder(),
    get stderr() {
      return process.stderr.once('error', ignore); // opened on demand, since most calls do not need it
    },
  });
  await new Promise<void>((done) => void stdout.write('', () => done()));
  process.exit(code);
}

/** The current folder, or `/` if it was removed. Then no file names a service, and the default address is used. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** Resolves to the exit code. 1 means bad usage, and does not block an agent. Never rejects. */
export async function runHook(argv: readonly string[], io: HookIo): Promise<number> {
  let options: HookOptions;
  try {
    const parsed = await readOptions(argv, io.env, io.cwd);
    options = { ...parsed, waits: { ...parsed.waits, ...io.waits } };
  } catch (error) {
    io.stderr.write(`stopgate hook: ${(error as Error).message} (see "stopgate hook --help"); nothing was judged\n`);
    return 1;
  }
  const note = (text: string) => void io.stderr.write(`stopgate: ${text.replace(/\p{Cc}+/gu, ' ')}\n`);
  if (options.withheld !== null)
    note(
      `only the files of this folder name ${options.withheld}, so it does not get your token; if you trust that server, name it with --http ${options.withheld} or STOPGATE_HTTP`,
    );
  try {
    if (options.wake) return await wake(options, io, note);
    return print(await judge(options, io, note), options, io);
  } catch (error) {
    note(`this call was not judged, because of a bug in stopgate: ${(error as Error).message}`);
    return 0;
  }
}

const noService = (folder: string): string => describeStopped(folder, 'another with --http');

/** Loads its module on demand. The agent does not wait for this call. */
async function wake(options: HookOptions, { stdin, stderr }: HookIo, note: (text: string) => void): Promise<number> {
  const call = options.stopped === null ? await readCall(stdin, options, eventTimeoutMs) : noService(options.stopped);
  if (typeof call === 'string') {
    note(`not waiting for a resolution: ${call}`);
    return 0;
  }
  const { waitForResolution } = await import('./wake.ts');
  const text = await waitForResolution(options, call.body);
  if (text === null) return 0;
  stderr.write(`${text}\n`);
  return 2;
}

/**
 * Prints the answer. `note` is for the person, on stderr. A script gets the reason there too, and the exit code
 * decides.
 */
function print({ body: answer, exitCode }: Answer, { agent }: HookOptions, io: HookIo): number {
  if (answer === null) return exitCode;
  const { note, ...body } = answer as { note?: unknown };
  if (typeof note === 'string') io.stderr.write(`${note.replace(/\p{Cc}+/gu, ' ')}\n`);
  if (Object.keys(body).length === 0) return exitCode;
  if (!agent.isScript) {
    io.stdout.write(`${JSON.stringify(body)}\n`);
    return exitCode;
  }
  const { decision, reason } = body as { decision?: unknown; reason?: unknown };
  if (typeof reason === 'string' && reason !== '') io.stderr.write(`${reason}\n`);
  return decision === 'block' ? 2 : 0;
}

async function judge(options: HookOptions, { stdin, cwd }: HookIo, note: (text: string) => void): Promise<Answer> {
  const startedMs = nowMs();
  const { agent } = options;
  const call = await readCall(stdin, options, options.timeoutMs ?? eventTimeoutMs, cwd);
  if (typeof call === 'string') {
    note(`this call was not judged: ${call}`);
    return { body: null, exitCode: 0 };
  }
  const isStop = agent.isStop(call.event, call.tool);
  const blocks = isStop && options.onUnreachable === 'block';
  const timeoutMs = options.timeoutMs ?? answerTimeoutMs(agent, call);
  const leftMs = () => Math.max(1, timeoutMs - (nowMs() - startedMs));
  const posted = await postCall(options, call, leftMs, blocks);
  if (posted.kind === 'answer') return { body: posted.body, exitCode: 0 };
  const what = isStop ? 'this stop' : `the event ${call.event || 'of this call'}`;
  if (blocks && posted.kind === 'unreachable') {
    const message = notJudged(what, posted.why, 'It is blocked because of --on-unreachable.');
    note(message);
    const request =
      'Do not work around this: tell the user that stopgate has to be started ("stopgate dev") or its hook removed.';
    const reason = `${unjudgedText}${posted.why}), and it is set to block then. ${request}`;
    return agent.block(reason, `stopgate: ${message}`);
  }
  const message = notJudged(what, posted.why, isStop ? 'It is allowed.' : 'The agent continues.');
  note(message);
  return isStop ? agent.allow(`stopgate: ${message}`) : { body: null, exitCode: 0 };
}

/**
 * Posts the call. If no service answers, starts one if the options say so, and waits a moment before a stop is blocked:
 * a service that restarts is back within a second.
 */
async function postCall(
  { name, http, stopped, token, policy, fleet, scope, tasks, autostart, waits, line }: HookOptions,
  { event, body, isRepeated }: Call,
  leftMs: () => number,
  blocks: boolean,
): Promise<Posted> {
  if (stopped !== null) return { kind: 'unreachable', why: noService(stopped), refused: true, lost: false };
  const query = new URLSearchParams({
    ...(event === '' ? {} : { event }),
    ...(policy === undefined ? {} : { policy }),
    ...(fleet === undefined ? {} : { fleet }),
    ...(scope === undefined ? {} : { scope }),
    ...(tasks === undefined ? {} : { tasks }),
  }).toString();
  const url = `${http}/hooks/${name}${query === '' ? '' : `?${query}`}`;
  const key = newKey();
  const send = () => post({ url, token, key, line, body, timeoutMs: leftMs() });
  let posted = await send();
  const isRefused = posted.kind === 'unreachable' && posted.refused;
  // The end of a session does not need a new service.
  if (isRefused && autostart !== undefined && !/^(?:session)?end$/i.test(event)) {
    const { startService } = await import('./autostart.ts');
    if (await startService(autostart, http, leftMs() - 500)) posted = await send();
  }
  const forMs = Math.min(blocks && isRepeated ? waits.serviceAgainMs : waits.serviceMs, leftMs() / 2);
  return postAgain(posted, send, { forMs, whileAway: blocks });
}

type Call = {
  readonly event: string;
  readonly tool: string;
  readonly body: Buffer;
  /** The agent reports that its last stop was blocked. */
  readonly isRepeated: boolean;
};

/** Resolves to a text if the input is not a call. The text says why. */
async function readCall(
  stdin: HookIo['stdin'],
  options: HookOptions,
  timeoutMs: number,
  cwd: string | null = null,
): Promise<Call | string> {
  const { agent, event, worker } = options;
  const raw = await readStdin(stdin, timeoutMs);
  if (typeof raw === 'string') return raw;
  const text = decodeBody(raw).trim();
  if (text === '' && !agent.isScript) return 'stdin is empty; an agent sends its call there as JSON';
  const body = (text === '' ? {} : readJson(text)) as Record<string, unknown> | undefined;
  if (body === undefined) return 'stdin is not JSON';
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'stdin is not a JSON object';
  const added = {
    ...(worker === undefined ? {} : { worker }),
    ...(agent.addsFolder && cwd !== null && body.cwd === undefined ? { cwd } : {}),
  };
  const eventInBody = body.hook_event_name ?? body.hookEventName;
  return {
    event: event ?? (typeof eventInBody === 'string' ? eventInBody : agent.isScript ? 'stop' : ''),
    tool: typeof body.tool_name === 'string' ? body.tool_name : '',
    body: Object.keys(added).length === 0 ? raw : Buffer.from(JSON.stringify({ ...body, ...added })),
    isRepeated: body.stop_hook_active === true,
  };
}

/** Reads JSON like the service does. Returns undefined if it is not JSON. */
function readJson(text: string): unknown {
  for (const json of [() => text, () => withoutBareNumbers(text)]) {
    try {
      return JSON.parse(json());
    } catch {}
  }
  return undefined;
}

/** Reads to the end even if there is too much, since an agent that writes into a closed pipe may fail. */
function readStdin(stdin: HookIo['stdin'], timeoutMs: number): Promise<Buffer | string> {
  if (stdin.isTTY === true) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => resolve(`stdin did not end within ${timeoutMs / 1_000} s`), timeoutMs);
    const end = (result: Buffer | string) => {
      clearTimeout(timer);
      resolve(result);
    };
    stdin.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= bodyBytesMax) chunks.push(chunk);
      else chunks.length = 0;
    });
    stdin.on('end', () =>
      end(size <= bodyBytesMax ? Buffer.concat(chunks) : `stdin has more than ${bodyBytesMax} bytes`),
    );
    stdin.on('error', (error) => end(`cannot read stdin: ${error.message}`));
  });
}
