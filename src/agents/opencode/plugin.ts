/**
 * The plugin that runs inside OpenCode (`.opencode/plugin/stopgate.js`): it posts what happens to the local service,
 * and when a root session is idle it asks whether that may be the end; a block goes back as a new prompt. One file
 * without imports, with one export: OpenCode takes every export of a plugin file for a plugin. Nothing that fails in
 * here may disturb the agent; where the service is away, that is said in OpenCode's log, and nothing is judged.
 */

/** `stopgate init opencode` writes the service's address here. */
const defaultUrl = 'http://127.0.0.1:4280';
const tokenVariable = 'STOPGATE_TOKEN';
/** A stop may be held, and its checks take their time. */
const answerTimeoutMs = 600_000;
/** The service holds such a question for less than a minute, and is then asked again. */
const wakeTimeoutMs = 90_000;
const wakeRetryMs = 5_000;

type Event = { type: string; properties?: { sessionID?: string; info?: { id?: string; parentID?: string } } };
type Message = { info: { role: string }; parts: { type: string; text?: string }[] };
type Client = {
  session: {
    get(request: object): Promise<{ data?: { parentID?: string } }>;
    messages(request: object): Promise<{ data?: Message[] }>;
    promptAsync(request: object): Promise<unknown>;
  };
  app: { log(request: object): Promise<unknown> };
};
type Answer = { decision?: string; reason?: string; waits?: boolean };
type Input = { sessionID: string; tool?: string; callID?: string; args?: { filePath?: unknown } };
type Output = { parts?: unknown[]; metadata?: { exit?: unknown } };

const told: ReadonlySet<string> = new Set([
  'session.created',
  'session.deleted',
  'session.error',
  'todo.updated',
  'permission.asked',
  'permission.updated',
  'permission.replied',
]);

/** As everywhere else: `HOST:PORT`, a port or a URL. */
const urlOf = (text: string): string => {
  if (/^\d+$/.test(text)) return `http://127.0.0.1:${text}`;
  return (text.includes('://') ? text : `http://${text}`).replace(/\/$/, '');
};
const pause = (ms: number): Promise<undefined> => new Promise((done) => setTimeout(() => done(undefined), ms));

export const StopgatePlugin = async ({ client, directory }: { client: Client; directory?: string }) => {
  const { env } = process;
  const url = `${urlOf(env.STOPGATE_HTTP || defaultUrl)}/hooks/opencode`;
  const token = env[tokenVariable];
  const authorization = token ? { authorization: `Bearer ${token}` } : {};
  /** By session: is it a sub-agent's? */
  const children = new Map<string, boolean>();
  /** Their turn ended by an error, and nobody has spoken since: to prompt them again would meet the same error. */
  const failed = new Set<string>();
  /** By session: the question that is open. Whoever speaks meanwhile takes it away. */
  const asking = new Map<string, object>();
  /** Sessions that wait for a person. Whoever speaks meanwhile ends that. */
  const waiting = new Map<string, AbortController>();
  let isAway = false;
  let queue: Promise<unknown> = Promise.resolve();

  const say = async (message: string) => {
    await client.app.log({ body: { service: 'stopgate', level: 'warn', message } });
  };
  const send = async (event: string, body: object): Promise<Answer | null> => {
    try {
      const answer = await fetch(`${url}?event=${event}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...authorization },
        body: JSON.stringify({ ...body, directory }),
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${text.slice(0, 300)}`);
      isAway = false;
      return text === '' ? null : JSON.parse(text);
    } catch (error) {
      if (!isAway) await say(`stopgate gave no answer, so nothing is judged: ${String(error)}`).catch(() => {});
      isAway = true;
      return null;
    }
  };
  /** In the order in which it happened. Not waited for by OpenCode. */
  const post = (event: string, body: object): void => {
    queue = queue.then(() => send(event, body));
  };
  const isChild = async (id: string): Promise<boolean> => {
    const known = children.get(id);
    if (known !== undefined) return known;
    const { data } = await client.session.get({ path: { id } });
    const found = Boolean(data?.parentID);
    children.set(id, found);
    return found;
  };
  const lastMessage = async (id: string): Promise<string | undefined> => {
    const { data = [] } = await client.session.messages({ path: { id } }).catch(() => ({ data: [] as Message[] }));
    const last = data.findLast(({ info }) => info.role === 'assistant');
    return last?.parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
  };
  const prompt = async (id: string, text: string): Promise<void> => {
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: 'text', text }] } });
  };
  const stopWaiting = (id: string): void => {
    waiting.get(id)?.abort();
    waiting.delete(id);
  };
  /** Undefined: nobody has said anything yet, null: there is nothing to be said (any more). */
  const askForWord = async (id: string, signal: AbortSignal): Promise<string | null | undefined> => {
    const answer = await fetch(`${url}/wake?worker=${encodeURIComponent(id)}`, {
      headers: authorization,
      signal: AbortSignal.any([signal, AbortSignal.timeout(wakeTimeoutMs)]),
    });
    if (answer.status === 204) return undefined;
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    return ((await answer.json()) as { prompt: string | null }).prompt;
  };
  /** The service holds the question until a person has spoken; what he said goes to the session once. */
  const waitForPerson = async (id: string): Promise<void> => {
    stopWaiting(id);
    const wait = new AbortController();
    waiting.set(id, wait);
    let word: string | null | undefined;
    while (word === undefined && !wait.signal.aborted) {
      word = await askForWord(id, wait.signal).catch(() => pause(wakeRetryMs));
    }
    if (wait.signal.aborted) return;
    waiting.delete(id);
    if (typeof word !== 'string') return;
    await prompt(id, word).catch((error) => say(`stopgate could not wake session ${id}: ${String(error)}`));
  };
  const idle = async (event: Event, id: string): Promise<void> => {
    if (failed.has(id) || asking.has(id)) return;
    const mine = {};
    asking.set(id, mine);
    try {
      if (await isChild(id)) return post(event.type, event);
      await queue;
      const answer = await send(event.type, { ...event, lastMessage: await lastMessage(id) });
      if (failed.has(id) || asking.get(id) !== mine) return;
      if (answer?.waits === true) void waitForPerson(id).catch(() => {});
      if (answer?.decision === 'block') await prompt(id, answer.reason ?? '');
    } catch (error) {
      await say(`stopgate could not ask for session ${id}: ${String(error)}`).catch(() => {});
    } finally {
      if (asking.get(id) === mine) asking.delete(id);
    }
  };

  return {
    event: async ({ event }: { event: Event }) => {
      const { info, sessionID: id = info?.id } = event.properties ?? {};
      if (id === undefined) return;
      if (event.type === 'session.created') children.set(id, Boolean(info?.parentID));
      if (event.type === 'session.error') failed.add(id);
      if (event.type === 'session.deleted') {
        for (const ids of [children, failed, asking]) ids.delete(id);
        stopWaiting(id);
      }
      if (told.has(event.type)) post(event.type, event);
      // Not waited for: the answer may take minutes, and other events must not.
      if (event.type === 'session.idle') void idle(event, id);
    },
    'chat.message': async (input: Input, { parts }: Output) => {
      failed.delete(input.sessionID);
      asking.delete(input.sessionID);
      stopWaiting(input.sessionID);
      post('chat.message', { input: { sessionID: input.sessionID }, output: { parts } });
    },
    // Only what is needed: a tool's arguments and output may be large.
    'tool.execute.after': async ({ sessionID, tool, callID, args }: Input, { metadata }: Output) => {
      post('tool.execute.after', {
        input: { sessionID, tool, callID, args: { filePath: args?.filePath } },
        output: { metadata: { exit: metadata?.exit } },
      });
    },
  };
};
