/**
 * The work of sessions in version 2 of the protocol, where the answer to a prompt says only that it was accepted.
 *
 * 1. A `state_update` other than `idle` begins work, with or without a prompt.
 * 2. `idle` ends it, which is a stop. We keep this update while the stop is decided; the editor still sees work.
 * 3. On a block we send the agent the next prompt under our own id, and continue with 1.
 * 4. On an allow we send the editor the update.
 *
 * A repeated `idle` is not a stop. If the decision becomes pointless, because the editor sends a prompt or the agent
 * begins new work, the editor gets the update at once.
 */
import { randomUUID } from 'node:crypto';
import { blockText } from '../agents/shared/block-text.ts';
import { plainText } from '../agents/shared/text.ts';
import { createTurnPauses, type TurnPauses } from '../agents/shared/turn-pauses.ts';
import { sleep } from '../timer.ts';
import {
  agentText,
  inSession,
  keyOf,
  type Notification,
  promptParams,
  promptRequest,
  type Request,
  type Response,
  readState,
  resultOf,
  type StateUpdate,
  stateMessage,
  userText,
} from './messages.ts';
import type { Session } from './sessions.ts';
import {
  type BudgetWatch,
  decide,
  describeBlock,
  noteOf,
  readCommand,
  runCommand,
  stopIfUsedUp,
  type TurnsOptions,
  wordsOf,
} from './turns.ts';

type Work = BudgetWatch & {
  isRunning: boolean;
  /** Ends the wait for the decision about `held`. */
  waiting: AbortController;
  isCancelled: boolean;
  /** The agent's `idle` while its stop is decided, and until the agent works on our prompt. */
  held: Buffer | null;
  /** Our prompt after a block, until the agent works on it. */
  ownPrompt: { readonly id: string; isAccepted: boolean } | null;
  beganMs: number;
  readonly pauses: TurnPauses;
};

export type Foreground = {
  /** Answers a prompt that is a command to stopgate. Returns false if the prompt is for the agent. */
  answers(request: Request): boolean;
  /** The editor prompts the agent. */
  begin(request: Request): void;
  /** Returns true if the editor must not see this state for now. */
  withholds(line: Buffer, params: unknown): boolean;
  /** Returns true for the answer to our own prompt, which the editor must not see. */
  answered(response: Response): boolean;
  /** Returns false if the agent has nothing to cancel. */
  cancel(notification: Notification): boolean;
  atTool(sessionId: string): void;
  close(): void;
};

/** Equals the limit of sessions (sessions.ts). */
const worksMax = 256;
/** Bounds the prompts kept for an agent that never answers. The oldest are dropped first. */
const unansweredMax = 1_000;

export function createForeground(options: TurnsOptions): Foreground {
  const { editor, agent, sessions, permissions } = options;
  const works = new Map<string, Work>();
  /** Our prompts that the agent has not answered. */
  const unanswered = new Set<string>();
  const workOf = (session: Session): Work => {
    const known = works.get(session.id);
    if (known !== undefined) return known;
    const work: Work = {
      session,
      isRunning: false,
      isWorking: () => work.isRunning && !work.isCancelled,
      waiting: new AbortController(),
      isCancelled: false,
      budget: null,
      held: null,
      ownPrompt: null,
      beganMs: performance.now(),
      pauses: createTurnPauses(),
    };
    works.set(session.id, work);
    const [oldest] = works.values();
    if (works.size > worksMax && oldest !== undefined) {
      release(oldest);
      works.delete(oldest.session.id);
    }
    return work;
  };

  /** Sends the editor the `idle` that was held, or a changed one. */
  const release = (work: Work, line: Buffer | object | null = work.held): void => {
    if (work.held === null || line === null) return;
    void editor.write(line);
    work.held = null;
    work.ownPrompt = null;
    work.waiting.abort();
  };
  const beginWork = (work: Work): void => {
    if (work.ownPrompt === null) release(work);
    work.isCancelled &&= work.ownPrompt !== null;
    work.held = null;
    work.ownPrompt = null;
    work.isRunning = true;
    work.budget = null;
    work.beganMs = performance.now();
  };
  const speak = (work: Work, words: string) => void editor.write(agentText(work.session.id, words, randomUUID()));

  /** Judges the stop that `line` reports, and says what follows. */
  const end = async (work: Work, line: Buffer, { stopReason = 'end_turn', error, usage }: StateUpdate) => {
    const { session, waiting } = work;
    const isHeld = () => work.held === line;
    if (stopReason === 'error') {
      session.failed(error);
      return release(work);
    }
    if (session.endedAtLimit()) return release(work);
    session.answered(usage);
    if (work.isCancelled || (stopReason === 'cancelled' && work.budget !== 'used up')) {
      // The decision is not awaited or obeyed; it only records the stop in the log.
      void session.decide('cancelled').catch(() => {});
      return release(work);
    }
    const decision = await decide(session, stopReason, waiting.signal);
    if (!isHeld()) return;
    if (decision === 'cancelled') return release(work, cancelled(session.id));
    if (decision instanceof Error) {
      speak(work, `stopgate: this stop was not judged: ${plainText(decision.message)}`);
      return release(work);
    }
    if (decision.decision === 'allow' || decision.cause === 'superseded') {
      const note = noteOf(session, decision);
      if (note !== null) speak(work, note);
      return release(work);
    }
    const waitMs = work.pauses.after(performance.now() - work.beganMs);
    speak(work, describeBlock(decision, waitMs));
    await sleep(waitMs, waiting.signal);
    if (!isHeld()) return;
    if (waiting.signal.aborted) return release(work, cancelled(session.id));
    session.reprompt();
    const id = `stopgate-${randomUUID()}`;
    work.ownPrompt = { id, isAccepted: false };
    unanswered.add(keyOf(id));
    if (unanswered.size > unansweredMax) unanswered.delete(unanswered.keys().next().value as string);
    await agent.write(promptRequest(id, session.id, blockText(decision)));
  };

  return {
    answers({ id, params }) {
      const found = readCommand(params);
      if (found === null) return false;
      const session = sessions.get(found.sessionId);
      const work = workOf(session);
      const messageId = randomUUID();
      const isIdle = !work.isRunning && work.held === null;
      void runCommand(session, found.command).then(async (words) => {
        const send = (message: object) => void editor.write(message);
        send(userText(session.id, found.words, messageId));
        if (isIdle) send(stateMessage(session.id, { state: 'running' }));
        speak(work, words);
        if (isIdle) send(stateMessage(session.id, { state: 'idle', stopReason: 'end_turn' }));
        await editor.write(resultOf(id, { messageId }));
      });
      return true;
    },
    begin({ params }) {
      const read = promptParams.safeParse(params);
      if (!read.success) return;
      const session = sessions.get(read.data.sessionId);
      release(workOf(session));
      session.prompt(wordsOf(read.data.prompt));
    },
    withholds(line, params) {
      const { sessionId } = inSession.parse(params);
      const read = readState(params);
      if (read === null) return false;
      const session = sessions.get(sessionId);
      const work = workOf(session);
      if (read.state !== 'idle') {
        if (!work.isRunning) beginWork(work);
        return false;
      }
      if (session.isReplayed()) {
        work.isRunning = false;
        return false;
      }
      const { ownPrompt } = work;
      // Before the agent works on our prompt, `idle` repeats the stop that we hold.
      if (!work.isRunning && ownPrompt?.isAccepted !== true) {
        if (work.held === null) return false;
        if (ownPrompt !== null) work.held = line;
        return true;
      }
      if (!work.isRunning) beginWork(work);
      work.isRunning = false;
      work.held = line;
      work.waiting = new AbortController();
      permissions.endOf(sessionId);
      void end(work, line, read).catch((bug: unknown) => {
        release(work);
        options.report(bug);
      });
      return true;
    },
    answered({ id, error }) {
      if (!unanswered.delete(keyOf(id))) return false;
      const work = [...works.values()].find(({ ownPrompt }) => ownPrompt?.id === id);
      if (work?.ownPrompt == null) return true;
      if (error === undefined) work.ownPrompt.isAccepted = true;
      else {
        work.session.failed(error);
        release(work, work.isCancelled ? cancelled(work.session.id) : work.held);
      }
      return true;
    },
    cancel({ params }) {
      const work = works.get(inSession.safeParse(params).data?.sessionId ?? '');
      if (work === undefined) return true;
      work.isCancelled = work.isRunning || work.ownPrompt !== null;
      const isAgentIdle = work.held !== null && work.ownPrompt === null;
      work.waiting.abort();
      return !isAgentIdle;
    },
    atTool(sessionId) {
      const work = works.get(sessionId);
      if (work !== undefined) void stopIfUsedUp(work, (words) => speak(work, words), options);
    },
    close() {
      for (const { waiting } of works.values()) waiting.abort();
    },
  };
}

const cancelled = (sessionId: string): object => stateMessage(sessionId, { state: 'idle', stopReason: 'cancelled' });
