/**
 * The command hook: one call of an agent on stdin, posted to the service, its answer on stdout. Whatever goes wrong, the
 * agent gets an answer that it takes for "go on", unless it was asked for a block: a hook must not break what it watches.
 * Only Node's own modules, and few of them: agents run this for every tool call.
 */
import type { Readable, Writable } from 'node:stream';
import { type Answer, notJudged, patienceMs, tellTimeoutMs, unjudgedText } from './agents.ts';
import { type HookOptions, readOptions } from './options.ts';
import { type Posted, post } from './post.ts';

export type HookIo = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
};

/** What the service takes at most. */
const bodyBytesMax = 16 * 1024 * 1024;
/** Before it blocks for want of a service, it waits for one: longer where it has just blocked, so that no loop burns money. */
const waitMs = { first: 2_000, again: 15_000 } as const;
const tryEveryMs = 250;

/** As a process: exits as soon as its answer is written, whatever still hangs on it. */
export async function runHookProcess(argv: readonly string[], env: HookIo['env']): Promise<never> {
  const { stdin, stdout } = process;
  // Nobody reads any more: then there is nothing to tell.
  const mute = () => undefined;
  stdout.on('error', mute);
  const code = await runHook(argv, {
    ...{ stdin, stdout, env, cwd: process.cwd() },
    get stderr() {
      return process.stderr.once('error', mute); // Touching it opens it, and most calls have nothing to say there.
    },
  });
  await new Promise<void>((done) => void stdout.write('', () => done()));
  process.exit(code);
}

/** Gives the exit code; 1, which blocks nowhere, is for a line that cannot be read. Never rejects. */
export async function runHook(argv: readonly string[], io: HookIo): Promise<number> {
  let options: HookOptions;
  try {
    options = await readOptions(argv, io.env, io.cwd);
  } catch (error) {
    io.stderr.write(`stopgate hook: ${(error as Error).message} (see "stopgate help hook"); nothing was judged\n`);
    return 1;
  }
  const note = (text: string) => void io.stderr.write(`stopgate: ${text.replace(/\p{Cc}+/gu, ' ')}\n`);
  try {
    if (options.wake) return await wake(options, io, note);
    return print(await answer(options, io, note), options, io);
  } catch (error) {
    note(`this call was not judged (cause unknown), by a fault of stopgate: ${(error as Error).message}`);
    return 0;
  }
}

/** It has the agent's time while a person thinks, and takes more to load: only who waits loads it. */
async function wake(options: HookOptions, { stdin, stderr }: HookIo, note: (text: string) => void): Promise<number> {
  const raw = await readBody(stdin, tellTimeoutMs);
  const call = typeof raw === 'string' ? raw : readCall(raw, options);
  if (typeof call === 'string') {
    note(`nobody is waited for: ${call}`);
    return 0;
  }
  const { waitForWord } = await import('./wake.ts');
  const word = await waitForWord(options, call.body);
  if (word === null) return 0;
  stderr.write(`${word}\n`);
  return 2;
}

/** To the shell the reason goes on stderr, and the exit code is the answer. */
function print({ body, exitCode }: Answer, { agent }: HookOptions, io: HookIo): number {
  if (body === null) return exitCode;
  if (agent !== 'shell') {
    io.stdout.write(`${JSON.stringify(body)}\n`);
    return exitCode;
  }
  const { decision, reason } = body as { decision?: unknown; reason?: unknown };
  if (typeof reason === 'string' && reason !== '') io.stderr.write(`${reason}\n`);
  return decision === 'block' ? 2 : 0;
}

async function answer(options: HookOptions, { stdin }: HookIo, note: (text: string) => void): Promise<Answer> {
  const startedMs = nowMs();
  const { facts, agent } = options;
  const raw = await readBody(stdin, options.timeoutMs ?? tellTimeoutMs);
  const call = typeof raw === 'string' ? raw : readCall(raw, options);
  if (typeof call === 'string') {
    note(`this call was not judged (cause unknown): ${call}`);
    return { body: null, exitCode: 0 };
  }
  const isStop = facts.isStop(call.event, call.tool);
  const timeoutMs = options.timeoutMs ?? patienceMs(facts, call);
  const leftMs = () => Math.max(1, timeoutMs - (nowMs() - startedMs));
  const query = new URLSearchParams({
    ...(call.event === '' ? {} : { event: call.event }),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
  }).toString();
  const url = `${options.http}/hooks/${agent}${query === '' ? '' : `?${query}`}`;
  const ask = () => post({ url, token: options.token, body: call.body, timeoutMs: leftMs() });

  let posted = await ask();
  if (
    posted.kind === 'unreachable' &&
    posted.refused &&
    options.autostart !== undefined &&
    !/^(?:session)?end$/i.test(call.event)
  ) {
    const { startService } = await import('./autostart.ts');
    if (await startService(options.autostart, options.http, leftMs() - 500)) posted = await ask();
  }
  const blocks = isStop && options.onUnreachable === 'block';
  if (blocks) posted = await retry(posted, ask, Math.min(call.again ? waitMs.again : waitMs.first, leftMs() / 2));
  if (posted.kind === 'answer') return { body: posted.body, exitCode: 0 };
  const what = isStop ? 'this stop' : `the event ${call.event || 'of this call'}`;
  if (blocks && posted.kind === 'unreachable') {
    const said = notJudged(what, posted.why, 'It is blocked, as --on-unreachable says.');
    note(said);
    const ask =
      'Do not work around this: tell the user that stopgate has to be started ("stopgate dev") or its hook removed.';
    return facts.block(`${unjudgedText}${posted.why}), and it is set to block then. ${ask}`, `stopgate: ${said}`);
  }
  const said = notJudged(what, posted.why, isStop ? 'It is allowed.' : 'The agent goes on.');
  note(said);
  return isStop ? facts.allow(`stopgate: ${said}`) : { body: null, exitCode: 0 };
}

/** A service that is being restarted is back in a second. */
async function retry(first: Posted, ask: () => Promise<Posted>, forMs: number): Promise<Posted> {
  const untilMs = nowMs() + forMs;
  let posted = first;
  while (posted.kind === 'unreachable' && nowMs() + tryEveryMs < untilMs) {
    await new Promise((done) => setTimeout(done, tryEveryMs));
    posted = await ask();
  }
  return posted;
}

/** `performance` is a module that would have to be loaded. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

type Call = {
  readonly event: string;
  readonly tool: string;
  readonly body: Buffer;
  /** The agent says that it has been blocked just now. */
  readonly again: boolean;
};

/** A string: why this is no call. */
function readCall(raw: Buffer, { agent, event, worker }: HookOptions): Call | string {
  const text = raw.toString('utf8').trim();
  if (text === '' && agent !== 'shell') return 'nothing came on stdin, where an agent puts its call as JSON';
  let body: Record<string, unknown>;
  try {
    body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  } catch {
    return 'what came on stdin is no JSON';
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'what came on stdin is no JSON object';
  const said = body.hook_event_name ?? body.hookEventName;
  return {
    event: event ?? (typeof said === 'string' ? said : agent === 'shell' ? 'stop' : ''),
    tool: typeof body.tool_name === 'string' ? body.tool_name : '',
    body: worker === undefined ? raw : Buffer.from(JSON.stringify({ ...body, worker })),
    again: body.stop_hook_active === true,
  };
}

/** Reads to the end even what is too much: an agent that writes into a closed pipe may fail. */
function readBody(stdin: HookIo['stdin'], timeoutMs: number): Promise<Buffer | string> {
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
    stdin.on('end', () => end(size <= bodyBytesMax ? Buffer.concat(chunks) : `it is over ${bodyBytesMax} bytes`));
    stdin.on('error', (error) => end(`stdin cannot be read: ${error.message}`));
  });
}
