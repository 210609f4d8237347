/** The sessions of one agent. Each session is a worker, named by the agent's session id. */
import { basename } from 'node:path';
import { usedUp, type WorkerView } from '../../machines/index.ts';
import { describeLine } from '../../machines/policy/budget.ts';
import { agents, toId } from '../agents/index.ts';
import { type EntryDraft, nameCharsMax } from '../agents/shared/entry-drafts.ts';
import type { PersonCommand } from '../agents/shared/person-command.ts';
import { firstChars } from '../agents/shared/text.ts';
import { failedThread, isLimitError, limitEndOf, type TokenUsage } from './messages.ts';
import { createSessionDrafts, draftMode, draftTokens, type Update } from './session-drafts.ts';
import type { Judgement, WorkerLink } from './worker-link.ts';

export type Session = {
  readonly id: string;
  readonly worker: string;
  record(draft: EntryDraft): void;
  view(): Promise<WorkerView>;
  /** How long the policy waits for an operator's answer, as of the last prompt; null if it has no `ask`. */
  askMs(): number | null;
  /** A person's prompt. */
  prompt(words: string): void;
  /** Runs a person's command to stopgate and resolves to the reply. @throws AppError */
  obey(command: PersonCommand): Promise<string>;
  /** Our own prompt after a block. */
  reprompt(): void;
  update(update: Update): void;
  mode(mode: string): void;
  /** The agent answered a prompt (the editor's or ours). */
  answered(usage: TokenUsage | undefined): void;
  /** The agent answered a prompt with an error, which is not a stop. */
  failed(error: unknown): void;
  /** Whether the agent's work ended at a usage limit although it calls that a normal end. */
  endedAtLimit(): boolean;
  /** Whether the model has produced text since the last prompt. */
  hasSpoken(): boolean;
  /** Whether the agent is replaying the session's past. */
  isReplayed(): boolean;
  /** Describes the budget limit that is used up; null if there is none or the service is unreachable. */
  usedUp(): Promise<string | null>;
  /** @throws AppError if the stop could not be judged */
  decide(stopReason: string): Promise<Judgement>;
};

export type Sessions = {
  /**
   * Returns the session. An unknown session gets its folder from `start`, or ours if one is needed earlier. Until then
   * the agent's updates are queued, because the service and the file names depend on the folder.
   */
  get(id: string): Session;
  /** The agent opened or resumed the session. */
  start(id: string, reported: Reported): void;
  /** Until `start`, the agent's updates are a replay of the session's past. */
  replay(id: string, reported: Reported): void;
  /** The session could not be resumed. */
  forget(id: string): void;
  end(id: string): void;
  /** Sets the agent's name for sessions that start later. */
  agentIs(name: string | undefined): void;
  /** Ends all sessions and stores the remaining entries. */
  close(): Promise<void>;
};
/** The details that the editor and the agent reported about a session. */
type Reported = { readonly cwd?: string | undefined; readonly mode?: string | undefined };

export type SessionsOptions = {
  /** The agent's command line. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly policy: string | undefined;
  /** Opens the link of a worker whose session works in `folder`, which may determine its service. */
  readonly open: (worker: string, folder: string) => WorkerLink;
  readonly note: (line: string) => void;
};

/** Updates of a session before its folder is known. An agent sends a few; the oldest are dropped first. */
const earlyMax = 1_000;
/** More than anyone keeps open in an editor. Beyond it, the oldest session is closed. */
const sessionsMax = 256;

export function createSessions({ command, cwd, policy, open, note }: SessionsOptions): Sessions {
  const sessions = new Map<string, OpenSession>();
  const closing = new Set<Promise<void>>();
  let agent = agentName(undefined, command);

  const leave = (id: string): void => {
    const closed = sessions.get(id)?.close();
    if (closed === undefined) return;
    sessions.delete(id);
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  };
  const find = (id: string): OpenSession => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const worker = toId(id);
    const session = openSession(id, {
      worker,
      open: (folder) => open(worker, folder),
      cwd,
      policy,
      note,
      agent: () => agent,
    });
    sessions.set(id, session);
    const [oldest] = sessions.keys();
    if (sessions.size > sessionsMax && oldest !== undefined) leave(oldest);
    return session;
  };
  return {
    get: (id) => find(id),
    start: (id, reported) => find(id).start(reported),
    replay: (id, reported) => find(id).replay(reported),
    forget(id) {
      if (sessions.get(id)?.isRegistered() === false) leave(id);
    },
    end: leave,
    agentIs(name) {
      agent = agentName(name, command);
    },
    async close() {
      for (const id of [...sessions.keys()]) leave(id);
      await Promise.all(closing);
    },
  };
}

type OpenSession = Session & {
  isRegistered(): boolean;
  start(reported: Reported): void;
  replay(reported: Reported): void;
  close(): Promise<void>;
};
type SessionOptions = Pick<SessionsOptions, 'cwd' | 'policy' | 'note'> & {
  readonly worker: string;
  readonly open: (folder: string) => WorkerLink;
  readonly agent: () => string;
};

function openSession(id: string, { worker, open, cwd, policy, note, agent }: SessionOptions): OpenSession {
  const drafts = createSessionDrafts(worker);
  /** Null until the session's folder is known. */
  let opened: WorkerLink | null = null;
  let early: (() => void)[] = [];
  let isRegistered = false;
  let isReplayed = false;
  let isEscalated = false;
  let isLimited = false;
  let hasFailed = false;
  let askMs: number | null = null;
  /** Assumed until the worker's view says otherwise. */
  let hasBudget = true;
  const linkIn = (folder: string): WorkerLink => {
    opened ??= open(folder);
    return opened;
  };
  const link = (): WorkerLink => linkIn(cwd);
  const record = (entries: readonly EntryDraft[]): void => {
    for (const entry of entries) link().record(entry);
  };
  /** Runs `report` now, or once the folder is known. */
  const onceFolderIsKnown = (report: () => void): void => {
    if (opened !== null) report();
    else early.push(report);
    if (early.length > earlyMax) early.shift();
  };
  const reportEarly = (): void => {
    const reports = early;
    early = [];
    for (const report of reports) report();
  };

  /** Refreshes what we know from the worker's view. Returns null if the service is unreachable. */
  const refresh = async (): Promise<WorkerView | null> => {
    const view = await link()
      .view()
      .catch(() => null);
    if (view === null) return null;
    askMs = view.rules.askMs;
    hasBudget = (view.budgets ?? []).length > 0;
    return view;
  };
  const checkPolicy = async (): Promise<void> => {
    const view = await refresh();
    if (view === null || policy === undefined || view.policy === policy) return;
    const why = 'that policy does not exist, or the task or "assign" names another one';
    note(`stopgate acp: policy ${view.policy} applies to ${worker}, not ${policy}: ${why}`);
  };
  const start = ({ cwd: folder = cwd, mode }: Reported): void => {
    isRegistered = true;
    isReplayed = false;
    linkIn(folder);
    record(drafts.start({ agent: agent(), cwd: folder, policy, mode }));
    reportEarly();
    void checkPolicy();
  };

  const failed = (error: unknown): void => {
    if (!isLimitError(error)) return;
    isLimited = true;
    const until = limitEndOf(error, Date.now());
    record([{ type: 'limit.reached', data: until === null ? {} : { until } }]);
  };

  return {
    id,
    worker,
    record: (draft) => onceFolderIsKnown(() => link().record(draft)),
    view: () => link().view(),
    start,
    isRegistered: () => isRegistered,
    askMs: () => askMs,
    replay({ cwd: folder = cwd }) {
      linkIn(folder);
      isReplayed = true;
      drafts.resume();
    },
    prompt(words) {
      if (!isRegistered) start({});
      isReplayed = false;
      isEscalated = false;
      hasFailed = false;
      record([drafts.prompt(words)]);
      void refresh();
    },
    obey(command) {
      if (!isRegistered) start({});
      return link().obey(command);
    },
    reprompt() {
      hasFailed = false;
      record([drafts.reprompt()]);
    },
    update(update) {
      hasFailed ||= failedThread.safeParse(update).success;
      onceFolderIsKnown(() => record(isReplayed ? drafts.replayed(update) : drafts.update(update)));
    },
    mode: (mode) => onceFolderIsKnown(() => record([draftMode(mode)])),
    answered(usage) {
      record(draftTokens(usage));
      if (isLimited) record([{ type: 'limit.cleared', data: {} }]);
      isLimited = false;
    },
    failed,
    endedAtLimit() {
      const error = { message: drafts.output() };
      if (!hasFailed || !isLimitError(error)) return false;
      failed(error);
      return true;
    },
    hasSpoken: () => drafts.output() !== '',
    isReplayed: () => isReplayed,
    async usedUp() {
      const view = hasBudget ? await refresh() : null;
      const line = usedUp(view?.budgets ?? []);
      return line === null ? null : describeLine(line);
    },
    async decide(stopReason) {
      if (!isRegistered) start({});
      const decision = await link().decide(drafts.attempt(stopReason));
      isEscalated = decision.action === 'escalate';
      return decision;
    },
    async close() {
      // Leave an escalated session open: closing it would hide it before a person has seen it.
      if (isRegistered && !isEscalated) record([{ type: 'session.ended', data: { reason: 'the session was closed' } }]);
      await opened?.close();
    },
  };
}

/**
 * Returns the agent's name for policies: a known agent's name if it occurs as a word (`claude` in
 * `@agentclientprotocol/claude-agent-acp`), otherwise the agent's own name, otherwise its program's.
 */
function agentName(own: string | undefined, command: readonly string[]): string {
  const names = own ? [own] : command.map((word) => basename(word));
  const known = names.flatMap((name) => name.toLowerCase().split(/[^a-z]+/)).find((word) => agents.has(word));
  return known ?? firstChars(names[0] || 'acp', nameCharsMax);
}
