/**
 * Forwards messages between an editor and an agent. Every message passes unchanged, except the end of a turn (turns.ts
 * in version 1 of the protocol, foreground.ts in version 2) and a permission answered by an operator (permissions.ts).
 */
import { createForeground } from './foreground.ts';
import type { LineWriter } from './lines.ts';
import {
  initialized,
  inSession,
  keyOf,
  methods,
  modeIn,
  type Notification,
  protocolVersion,
  type Request,
  type Response,
  readMessage,
  sessionStart,
  sessionStarted,
  sessionUpdate,
  setMode,
  withOptions,
} from './messages.ts';
import { type Asker, createPermissions } from './permissions.ts';
import type { Session, Sessions } from './sessions.ts';
import { createTurns, say } from './turns.ts';

export type Relay = {
  fromEditor(line: Buffer): Promise<void>;
  fromAgent(line: Buffer): Promise<void>;
  close(): void;
};
export type RelayOptions = {
  readonly editor: LineWriter;
  readonly agent: LineWriter;
  readonly sessions: Sessions;
  /** Writes a line to stderr, which editors show in their logs. */
  readonly note: (line: string) => void;
};

export function createRelay({ editor, agent, sessions, note }: RelayOptions): Relay {
  const permissions = createPermissions({
    toAgent: (message) => void agent.write(message),
    toEditor: (message) => void editor.write(message),
  });
  const report = (error: unknown) => note(`stopgate acp: bug: ${(error as Error).stack ?? String(error)}`);
  const options = { editor, agent, sessions, permissions, report };
  const turns = createTurns(options);
  const foreground = createForeground(options);
  const requests = followRequests(sessions);
  const work = () => (requests.version() === 1 ? turns : foreground);
  const askerOf = (id: string) => toAsker(sessions.get(id), editor);
  /** Runs our own processing of a message. Its errors must never keep the message from being forwarded. */
  const safely = <Result>(read: () => Result, otherwise: Result): Result => {
    try {
      return read();
    } catch (error) {
      report(error);
      return otherwise;
    }
  };

  const atTool = (params: unknown) => {
    const session = inSession.safeParse(params).data?.sessionId;
    if (session !== undefined) work().atTool(session);
  };

  /** Returns the message that the agent gets instead, or null if it gets none. */
  const cancel = (message: Notification): object | 'unchanged' | null => {
    if (requests.version() === 1) return turns.cancel(message);
    return message.method !== methods.cancel || foreground.cancel(message) ? 'unchanged' : null;
  };

  return {
    async fromEditor(line) {
      const message = readMessage(line);
      if (message?.kind === 'request') {
        if (message.method === methods.prompt) {
          if (safely(() => work().answers(message), false)) return undefined;
          safely(() => work().begin(message), undefined);
        }
        safely(() => requests.asked(message), undefined);
        return agent.write(message.method === methods.initialize ? withVersion(line) : line);
      }
      if (message?.kind === 'notification') {
        const replacement = safely(() => cancel(message), 'unchanged');
        return replacement === null ? undefined : agent.write(replacement === 'unchanged' ? line : replacement);
      }
      const isLate = message?.kind === 'response' && safely(() => permissions.answered(message.id), false);
      return isLate ? undefined : agent.write(line);
    },
    async fromAgent(line) {
      const message = readMessage(line);
      if (message?.kind === 'response') {
        // Not awaited: other sessions continue while a stop is decided.
        const ended = safely(() => turns.end({ line, message }), undefined)?.catch(report);
        if (ended !== undefined) return;
        if (safely(() => foreground.answered(message), false)) return;
        safely(() => requests.answered(message), undefined);
      } else if (message?.kind === 'request') {
        if (safely(() => permissions.open(message, askerOf), false)) atTool(message.params);
      } else if (message?.method === methods.update) {
        safely(() => observe(message.params, sessions), undefined);
        if (isTool(message.params)) atTool(message.params);
        if (requests.version() !== 1 && safely(() => foreground.withholds(line, message.params), false)) return;
      }
      return editor.write(line);
    },
    close() {
      permissions.close();
      turns.close();
      foreground.close();
    },
  };
}

const isTool = (params: unknown): boolean =>
  sessionUpdate.safeParse(params).data?.update.sessionUpdate.startsWith('tool_call') === true;

function observe(params: unknown, sessions: Sessions): void {
  const read = sessionUpdate.safeParse(params);
  if (read.success) sessions.get(read.data.sessionId).update(read.data.update);
}

const toAsker = (session: Session, editor: LineWriter): Asker => ({
  sessionId: session.id,
  record: session.record,
  view: session.view,
  askMs: session.askMs(),
  say: (words) => say(editor, session, words),
});

/** Bounds the requests kept for an agent that never answers. The oldest are dropped first. */
const pendingMax = 1_000;

const begins: ReadonlySet<string> = new Set([
  methods.newSession,
  methods.loadSession,
  methods.resumeSession,
  methods.forkSession,
]);
const ends: ReadonlySet<string> = new Set([methods.closeSession, methods.deleteSession]);
const followed: ReadonlySet<string> = new Set([
  methods.initialize,
  methods.setMode,
  methods.setOption,
  methods.prompt,
  ...begins,
  ...ends,
]);
/** While it handles one of these requests, the agent may replay the session's past updates. */
const replaying: ReadonlySet<string> = new Set([methods.loadSession, methods.resumeSession]);

/** Tracks the editor's requests whose answers reveal sessions. */
function followRequests(sessions: Sessions) {
  const pending = new Map<string, Request>();
  let version: 1 | 2 = 1;
  return {
    /** The version that editor and agent agreed on. */
    version: () => version,
    asked(request: Request): void {
      // In version 1 the answer to a prompt ends its turn.
      if (!followed.has(request.method) || (request.method === methods.prompt && version === 1)) return;
      pending.set(keyOf(request.id), request);
      if (pending.size > pendingMax) pending.delete(pending.keys().next().value as string);
      const { sessionId, cwd } = sessionStart.safeParse(request.params).data ?? {};
      if (replaying.has(request.method) && sessionId !== undefined) sessions.replay(sessionId, { cwd });
    },
    answered(response: Response): void {
      const request = pending.get(keyOf(response.id));
      if (request === undefined) return;
      pending.delete(keyOf(response.id));
      if (request.method === methods.initialize) version = versionIn(response);
      learn(request, response, sessions);
    },
  };
}

const versionIn = ({ result }: Response): 1 | 2 =>
  (initialized.safeParse(result).data?.protocolVersion ?? 1) >= 2 ? 2 : 1;

function learn({ method, params }: Request, { result, error }: Response, sessions: Sessions): void {
  const asked = sessionStart.safeParse(params).data;
  const started = sessionStarted.safeParse(result ?? {}).data;
  const id = begins.has(method) ? (started?.sessionId ?? asked?.sessionId) : asked?.sessionId;
  if (method === methods.initialize) {
    const { agentInfo, info } = initialized.safeParse(result).data ?? {};
    sessions.agentIs((agentInfo ?? info)?.name);
  }
  if (id === undefined) return;
  if (error !== undefined) {
    if (replaying.has(method)) sessions.forget(id);
    if (method === methods.prompt) sessions.get(id).failed(error);
  } else if (begins.has(method)) {
    sessions.start(id, { cwd: asked?.cwd, mode: started?.modes?.currentModeId ?? modeIn(started ?? {}) });
  } else if (ends.has(method)) sessions.end(id);
  else if (method === methods.setMode) {
    const mode = setMode.safeParse(params);
    if (mode.success) sessions.get(id).mode(mode.data.modeId);
  } else if (method === methods.setOption) {
    const mode = modeIn(withOptions.safeParse(result).data ?? {});
    if (mode !== undefined) sessions.get(id).mode(mode);
  }
}

/** Caps the requested protocol version at ours: a newer one may end turns in another way. */
function withVersion(line: Buffer): Buffer | object {
  const request = JSON.parse(line.toString()) as { params?: { protocolVersion?: unknown } };
  const wanted = request.params?.protocolVersion;
  if (typeof wanted !== 'number' || wanted <= protocolVersion) return line;
  return { ...request, params: { ...request.params, protocolVersion } };
}
