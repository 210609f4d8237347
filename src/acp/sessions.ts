/** The sessions of one agent. Each is a worker, by the agent's own id of it. */
import { basename } from 'node:path';
import { usedUp, type WorkerView } from '../../machines/index.ts';
import { describeLine } from '../../machines/policy/budget.ts';
import { agents, toId } from '../agents/index.ts';
import { type EntryDraft, nameCharsMax } from '../agents/shared/entry-drafts.ts';
import type { PersonCommand } from '../agents/shared/person-command.ts';
import { firstChars } from '../agents/shared/text.ts';
import { isLimitError, limitEndOf, type TokenUsage } from './messages.ts';
import { createSessionDrafts, draftMode, draftTokens, type Update } from './session-drafts.ts';
import type { Judgement, WorkerLink } from './worker-link.ts';

export type Session = {
  readonly id: string;
  readonly worker: string;
  record(draft: EntryDraft): void;
  view(): Promise<WorkerView>;
  /**
   * Returns how long its policy holds a permission for an operator, as it was at the last prompt; null if it does not.
   */
  askMs(): number | null;
  /** A person's prompt. */
  prompt(words: string): void;
  /** A person's prompt that is for stopgate. Resolves to the answer. @throws AppError */
  obey(command: PersonCommand): Promise<string>;
  /** Ours, after a block. */
  reprompt(): void;
  update(update: Update): void;
  mode(mode: string): void;
  /** The agent has answered a prompt, be it ours. */
  answered(usage: TokenUsage | undefined): void;
  /** It has answered with an error, which is no stop. */
  failed(error: unknown): void;
  /** Has the model said something since the last prompt? */
  hasSpoken(): boolean;
  /** The limit of a budget that is used up, for a person. Null: none is, or nobody can tell. */
  usedUp(): Promise<string | null>;
  /** @throws AppError: nobody judged it */
  decide(stopReason: string): Promise<Judgement>;
};

export type Sessions = {
  /** One that nobody has begun here begins now, in our folder. */
  get(id: string): Session;
  /** The agent has begun it, or has taken it up again. */
  start(id: string, told: Told): void;
  /** From here to its start, the agent tells its past. */
  replay(id: string, told: Told): void;
  /** It could not be taken up. */
  forget(id: string): void;
  end(id: string): void;
  /** Notes what the agent calls itself. */
  agentIs(name: string | undefined): void;
  /** Ends them all, and stores what is left. */
  close(): Promise<void>;
};
type Told = { readonly cwd?: string | undefined; readonly mode?: string | undefined };

export type SessionsOptions = {
  /** The agent's command line. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly policy: string | undefined;
  /** `folder`: where the session works, which may tell which service is its own. */
  readonly open: (worker: string, folder: string) => WorkerLink;
  readonly note: (line: string) => void;
};

/** More threads than anybody has open in an editor; of more, the one that was begun first is left. */
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
  const find = (id: string, { cwd: folder = cwd }: Told = {}): OpenSession => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const own = { cwd: folder, policy, note, agent: () => agent };
    const session = openSession(id, open(toId(id), folder), own);
    sessions.set(id, session);
    const [oldest] = sessions.keys();
    if (sessions.size > sessionsMax && oldest !== undefined) leave(oldest);
    return session;
  };
  return {
    get: (id) => find(id),
    start: (id, told) => find(id, told).start(told),
    replay: (id, told) => find(id, told).replay(),
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
  start(told: Told): void;
  replay(): void;
  close(): Promise<void>;
};
type Own = Pick<SessionsOptions, 'cwd' | 'policy' | 'note'> & { readonly agent: () => string };

function openSession(id: string, link: WorkerLink, { cwd, policy, note, agent }: Own): OpenSession {
  const drafts = createSessionDrafts(link.worker);
  let [isRegistered, isReplayed, isEscalated, isLimited] = [false, false, false, false];
  let askMs: number | null = null;
  /** Until it is known, there may be one. */
  let hasBudget = true;
  const record = (given: readonly EntryDraft[]) => given.forEach(link.record);

  /** A service that is away says nothing of it now. */
  const look = async (): Promise<WorkerView | null> => {
    const view = await link.view().catch(() => null);
    if (view === null) return null;
    askMs = view.rules.askMs;
    hasBudget = (view.budgets ?? []).length > 0;
    return view;
  };
  const checkPolicy = async (): Promise<void> => {
    const view = await look();
    if (view === null || policy === undefined || view.policy === policy) return;
    const why = 'there is none of that name, or its task or "assign" names another';
    note(`stopgate acp: ${link.worker} gets the policy ${view.policy}, not ${policy}: ${why}`);
  };
  const start = ({ cwd: folder = cwd, mode }: Told): void => {
    [isRegistered, isReplayed] = [true, false];
    record(drafts.start({ agent: agent(), cwd: folder, policy, mode }));
    void checkPolicy();
  };

  return {
    id,
    worker: link.worker,
    record: link.record,
    view: link.view,
    start,
    isRegistered: () => isRegistered,
    askMs: () => askMs,
    replay() {
      isReplayed = true;
      drafts.resume();
    },
    prompt(words) {
      if (!isRegistered) start({});
      [isReplayed, isEscalated] = [false, false];
      record([drafts.prompt(words)]);
      void look();
    },
    obey(command) {
      if (!isRegistered) start({});
      return link.obey(command);
    },
    reprompt: () => record([drafts.reprompt()]),
    update: (update) => record(isReplayed ? drafts.replayed(update) : drafts.update(update)),
    mode: (mode) => record([draftMode(mode)]),
    answered(usage) {
      record(draftTokens(usage));
      if (isLimited) record([{ type: 'limit.cleared', data: {} }]);
      isLimited = false;
    },
    failed(error) {
      if (!isLimitError(error)) return;
      isLimited = true;
      const until = limitEndOf(error, Date.now());
      record([{ type: 'limit.reached', data: until === null ? {} : { until } }]);
    },
    hasSpoken: drafts.hasSpoken,
    async usedUp() {
      const view = hasBudget ? await look() : null;
      const line = usedUp(view?.budgets ?? []);
      return line === null ? null : describeLine(line);
    },
    async decide(stopReason) {
      const decision = await link.decide(drafts.attempt(stopReason));
      isEscalated = decision.action === 'escalate';
      return decision;
    },
    async close() {
      // One that waits for a person would be closed before anybody has seen it.
      if (isRegistered && !isEscalated) record([{ type: 'session.ended', data: { reason: 'the session was closed' } }]);
      await link.close();
    },
  };
}

/**
 * The name under which policies know the agent, if its own has it as a word: `claude` for
 * `@agentclientprotocol/claude-agent-acp`. Otherwise its own, or for an agent without one that of its program.
 */
function agentName(own: string | undefined, command: readonly string[]): string {
  const names = own ? [own] : command.map((word) => basename(word));
  const known = names.flatMap((name) => name.toLowerCase().split(/[^a-z]+/)).find((word) => agents.has(word));
  return known ?? firstChars(names[0] || 'acp', nameCharsMax);
}
