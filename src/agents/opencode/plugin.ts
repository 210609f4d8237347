/**
 * The plugin that runs inside OpenCode (`.opencode/plugin/stopgate.js`). It posts events to the local service. When a
 * root session becomes idle, it asks whether the session may stop, and turns a block into a new prompt.
 *
 * This is one file without imports and with a single export, because OpenCode treats every export as a plugin. No
 * failure here may disturb the agent: if the service is unreachable, OpenCode's log says so and nothing is judged.
 */

/** `stopgate init opencode` replaces the next two values. */
const defaultUrl = 'http://127.0.0.1:4280';
const tokenVariable = 'STOPGATE_TOKEN';
/** Long, because a stop may be held and its checks may be slow. */
const answerTimeoutMs = 600_000;
/** The service answers such a request within a minute, and the plugin sends the next one. */
const resolutionTimeoutMs = 90_000;
const resolutionRetryMs = 5_000;
const lostMs = 2_000;
const lostRetryMs = 250;

type Event = {
  type: string;
  properties?: { id?: string; sessionID?: string; info?: { id?: string; parentID?: string } };
};
type Message = { info: { role: string }; parts: { type: string; text?: string }[] };
type Client = {
  session: {
    get(request: object): Promise<{ data?: { parentID?: string } }>;
    messages(request: object): Promise<{ data?: Message[] }>;
    promptAsync(request: object): Promise<unknown>;
  };
  app: { log(request: object): Promise<unknown> };
  tui?: { showToast(request: object): Promise<unknown> };
  /** The underlying HTTP client. The public client has no call for these replies. */
  _client?: { post(request: object): Promise<{ error?: unknown }> };
};
/** `note` is a message for the person. `reply` is an operator's reply to a request of OpenCode. */
type Answer = { decision?: string; reason?: string; waits?: boolean; note?: string; reply?: object };
type Arguments = { filePath?: unknown; command?: unknown; patchText?: unknown };
type Input = { sessionID: string; tool?: string; callID?: string; args?: Arguments };
type Output = { parts?: unknown[]; metadata?: { exit?: unknown } };

const postedEvents: ReadonlySet<string> = new Set([
  'session.created',
  'session.deleted',
  'session.error',
  'todo.updated',
  'permission.updated',
  'permission.replied',
  'question.replied',
  'question.rejected',
]);
/** OpenCode's requests to a person, with the path for the reply. */
const repliesTo: ReadonlyMap<string, string> = new Map([
  ['permission.asked', '/permission/{requestID}/reply'],
  ['question.asked', '/question/{requestID}/reply'],
]);

type State = {
  readonly client: Client;
  readonly directory: string | undefined;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** By session: whether it is a sub-agent's. */
  readonly children: Map<string, boolean>;
  /** Sessions whose turn ended with an error. Not asked about until the next prompt, since ours would fail too. */
  readonly failed: Set<string>;
  /** By session: the pending stop request. Any other prompt cancels it. */
  readonly questions: Map<string, object>;
  /** By session: the wait for a person's resolution. Any other prompt ends it. */
  readonly waits: Map<string, AbortController>;
  /** True after a failed call, which is logged once. */
  isUnreachable: boolean;
  /** Resolves when all calls so far are posted, in order. */
  queue: Promise<unknown>;
};

export const StopgatePlugin = async ({ client, directory }: { client: Client; directory?: string }) => {
  const state = createState(client, directory);
  return {
    event: async ({ event }: { event: Event }) => handleEvent(state, event),
    'chat.message': async (input: Input, { parts }: Output) => {
      state.failed.delete(input.sessionID);
      state.questions.delete(input.sessionID);
      stopWaiting(state, input.sessionID);
      post(state, 'chat.message', { input: { sessionID: input.sessionID }, output: { parts } });
    },
    'tool.execute.before': async ({ sessionID, tool, callID }: Input) => {
      post(state, 'tool.execute.before', { input: { sessionID, tool, callID } });
    },
    // Send only the needed fields, because arguments and output may be large.
    'tool.execute.after': async ({ sessionID, tool, callID, args }: Input, { metadata }: Output) => {
      post(state, 'tool.execute.after', {
        input: { sessionID, tool, callID, args: trimArguments(args) },
        output: { metadata: { exit: metadata?.exit } },
      });
    },
  };
};

/** Longer commands are cut: the service reads only this much. */
const commandCharsMax = 6_000;
/** Limit for the lines of a patch that name its files. If they are longer, the files count as unknown. */
const patchCharsMax = 200_000;

function trimArguments({ filePath, command, patchText }: Arguments = {}): Arguments {
  const isPatch = typeof patchText === 'string';
  const headers = isPatch
    ? patchText
        .split('\n')
        .filter((line) => /^(?:\*\*\*|---|\+\+\+) /.test(line))
        .join('\n')
    : '';
  return {
    filePath,
    command: typeof command === 'string' ? command.slice(0, commandCharsMax) : undefined,
    patchText: isPatch && headers.length <= patchCharsMax ? headers : undefined,
  };
}

function createState(client: Client, directory: string | undefined): State {
  const { env } = process;
  const token = env[tokenVariable];
  return {
    client,
    directory,
    url: `${toUrl(env.STOPGATE_HTTP || defaultUrl)}/hooks/opencode`,
    headers: token ? { authorization: `Bearer ${token}` } : {},
    children: new Map(),
    failed: new Set(),
    questions: new Map(),
    waits: new Map(),
    isUnreachable: false,
    queue: Promise.resolve(),
  };
}

/** Accepts `HOST:PORT`, a port or a URL, like all of stopgate. */
function toUrl(text: string): string {
  if (/^\d+$/.test(text)) return `http://127.0.0.1:${text}`;
  return (text.includes('://') ? text : `http://${text}`).replace(/\/$/, '');
}

function handleEvent(state: State, event: Event): void {
  const { info, sessionID: id = info?.id } = event.properties ?? {};
  if (id === undefined) return;
  if (event.type === 'session.created') state.children.set(id, Boolean(info?.parentID));
  if (event.type === 'session.error') state.failed.add(id);
  if (event.type === 'session.deleted') {
    for (const sessions of [state.children, state.failed, state.questions]) sessions.delete(id);
    stopWaiting(state, id);
  }
  if (postedEvents.has(event.type)) post(state, event.type, event);
  // Not awaited: the answer may take minutes, and OpenCode's other events must not wait for it.
  if (repliesTo.has(event.type)) void askOperator(state, event);
  if (event.type === 'session.idle') void askToStop(state, event, id);
}

// --- the service ----------------------------------------------------------------------------------------------

/** Posts calls in order, without making OpenCode wait. */
function post(state: State, event: string, body: object): void {
  state.queue = state.queue.then(async () => {
    // The answer to a command that a person typed as a prompt.
    const note = (await send(state, event, body))?.note;
    if (note !== undefined) await showToPerson(state, note).catch(() => {});
  });
}

/** Resolves to null if the answer is empty or the call failed. */
async function send(state: State, event: string, body: object): Promise<Answer | null> {
  const { url, headers, directory } = state;
  const call = {
    method: 'POST',
    // The key stays the same in retries, so that the service recognises a repeated post.
    headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID(), ...headers },
    body: JSON.stringify({ ...body, directory }),
  };
  try {
    const { ok, status, text } = await fetchAgain(`${url}?event=${event}`, call);
    if (!ok) throw new Error(`HTTP ${status}: ${text.slice(0, 300)}`);
    state.isUnreachable = false;
    return text === '' ? null : JSON.parse(text);
  } catch (error) {
    const isFirst = !state.isUnreachable;
    if (isFirst) await warn(state, `stopgate does not answer, so nothing is judged: ${String(error)}`).catch(() => {});
    state.isUnreachable = true;
    return null;
  }
}

/** Retries for 2 s if the connection breaks, but not if it is refused or times out. */
async function fetchAgain(url: string, call: object): Promise<{ ok: boolean; status: number; text: string }> {
  const untilMs = Date.now() + lostMs;
  const timeout = AbortSignal.timeout(answerTimeoutMs);
  for (;;) {
    try {
      const answer = await fetch(url, { ...call, signal: timeout });
      return { ok: answer.ok, status: answer.status, text: await answer.text() };
    } catch (error) {
      // Node and Bun report a refused connection differently.
      const { code, cause } = error as { code?: string; cause?: { code?: string } };
      const isLost = !/refused/i.test(`${code} ${cause?.code}`) && !timeout.aborted;
      if (!isLost || Date.now() >= untilMs) throw error;
      await pause(lostRetryMs, timeout);
    }
  }
}

/**
 * Resolves to the prompt of the resolution, to undefined if the escalation is still open, or to null if there is no
 * prompt or no escalation.
 */
async function fetchResolution(
  { url, headers }: State,
  id: string,
  signal: AbortSignal,
): Promise<string | null | undefined> {
  const answer = await fetch(`${url}/wake?worker=${encodeURIComponent(id)}`, {
    headers,
    signal: AbortSignal.any([signal, AbortSignal.timeout(resolutionTimeoutMs)]),
  });
  if (answer.status === 204) return undefined;
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return ((await answer.json()) as { prompt: string | null }).prompt;
}

// --- idle sessions --------------------------------------------------------------------------------------------

async function askToStop(state: State, event: Event, id: string): Promise<void> {
  const { failed, questions } = state;
  if (failed.has(id) || questions.has(id)) return;
  const question = {};
  questions.set(id, question);
  try {
    if (await isChild(state, id)) return post(state, event.type, event);
    await state.queue;
    const answer = await send(state, event.type, { ...event, lastMessage: await readLastMessage(state, id) });
    if (answer?.note !== undefined) await warn(state, answer.note).catch(() => {});
    if (failed.has(id) || questions.get(id) !== question) return;
    if (answer?.waits === true) void waitForResolution(state, id).catch(() => {});
    if (answer?.decision === 'block') await prompt(state, id, answer.reason ?? '');
  } catch (error) {
    await warn(state, `stopgate could not judge session ${id}: ${String(error)}`).catch(() => {});
  } finally {
    if (questions.get(id) === question) questions.delete(id);
  }
}

/** Waits until a person resolves the session's escalation, then prompts the session with the resolution. */
async function waitForResolution(state: State, id: string): Promise<void> {
  stopWaiting(state, id);
  const wait = new AbortController();
  state.waits.set(id, wait);
  let resolution: string | null | undefined;
  while (resolution === undefined && !wait.signal.aborted) {
    resolution = await fetchResolution(state, id, wait.signal).catch(() => pause(resolutionRetryMs, wait.signal));
  }
  if (wait.signal.aborted) return;
  state.waits.delete(id);
  if (typeof resolution !== 'string') return;
  await prompt(state, id, resolution).catch((error) =>
    warn(state, `stopgate could not wake session ${id}: ${String(error)}`),
  );
}

function stopWaiting({ waits }: State, id: string): void {
  waits.get(id)?.abort();
  waits.delete(id);
}

/** Resolves after `ms`, or earlier if the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<undefined> =>
  new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done(undefined);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });

// --- requests to a person -------------------------------------------------------------------------------------

/** Runs outside the queue, because an operator may take minutes. The person at the terminal may answer first. */
async function askOperator(state: State, event: Event): Promise<void> {
  await state.queue;
  const answer = await send(state, event.type, event);
  if (answer?.reply === undefined) return;
  const url = repliesTo.get(event.type);
  const replied = state.client._client?.post({
    url,
    path: { requestID: event.properties?.id },
    body: answer.reply,
    headers: { 'content-type': 'application/json' },
  });
  const why =
    replied === undefined ? 'this client cannot send replies' : await replied.then(({ error }) => error, String);
  if (why !== undefined) await warn(state, `stopgate could not reply for the operator: ${JSON.stringify(why)}`);
}

// --- OpenCode -------------------------------------------------------------------------------------------------

async function isChild({ client, children }: State, id: string): Promise<boolean> {
  const known = children.get(id);
  if (known !== undefined) return known;
  const { data } = await client.session.get({ path: { id } });
  const found = Boolean(data?.parentID);
  children.set(id, found);
  return found;
}

async function readLastMessage({ client }: State, id: string): Promise<string | undefined> {
  const { data = [] } = await client.session.messages({ path: { id } }).catch(() => ({ data: [] as Message[] }));
  const last = data.findLast(({ info }) => info.role === 'assistant');
  return last?.parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}

async function prompt({ client }: State, id: string, text: string): Promise<void> {
  await client.session.promptAsync({ path: { id }, body: { parts: [{ type: 'text', text }] } });
}

/** Writes the message to OpenCode's log and, if it has a terminal, shows it as a toast. */
async function showToPerson(state: State, message: string): Promise<void> {
  await warn(state, message);
  await state.client.tui?.showToast({ body: { message, variant: 'info' } });
}

async function warn({ client }: State, message: string): Promise<void> {
  await client.app.log({ body: { service: 'stopgate', level: 'warn', message } });
}
