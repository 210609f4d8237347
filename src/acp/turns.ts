/**
 * The turns of an agent, as long as the editor sees them.
 *
 * 1. A turn begins with the editor's `session/prompt`, which the agent gets under the editor's id.
 * 2. The agent's answer ends it. It is kept while the stop is decided.
 * 3. A block: the agent gets the next prompt, under an id of ours, and we are at 2.
 * 4. Otherwise the editor gets the last answer under its own id.
 *
 * A turn that is cancelled, in whatever step, is never prompted again. One whose budget is used up is cancelled by us at the
 * agent's next tool, and judged then.
 */
import { randomUUID } from 'node:crypto';
import { formatDuration } from '../../machines/index.ts';
import { allowNote, blockText } from '../agents/shared/block-text.ts';
import { readPersonCommand } from '../agents/shared/person-command.ts';
import { plainText } from '../agents/shared/text.ts';
import { createTurnPauses, type TurnPauses } from '../agents/shared/turn-pauses.ts';
import type { AppError } from '../errors.ts';
import { sleep } from '../timer.ts';
import type { LineWriter } from './lines.ts';
import {
  agentText,
  cancelledRequest,
  cancelSession,
  inSession,
  keyOf,
  methods,
  type Notification,
  promptParams,
  promptRequest,
  type Request,
  type Response,
  type RpcId,
  resultOf,
  type TokenUsage,
  turnEnded,
} from './messages.ts';
import type { Permissions } from './permissions.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Judgement } from './worker-link.ts';

type Turn = {
  readonly session: Session;
  /** The id of the editor's request. */
  readonly id: RpcId;
  /** Under which the agent has the current prompt. Null: it has answered, and the stop is being decided. */
  agentId: RpcId | null;
  readonly cancelled: AbortController;
  /** When the agent got the current prompt. */
  promptedMs: number;
  /** Before it is prompted again: a block that repeats at once costs money. */
  readonly pauses: TurnPauses;
  /** Its budget: somebody is looking, or it was told to stop. */
  budget: 'looking' | 'used up' | null;
};
/** The agent's answer to a prompt: as it came, and read. */
type Answer = { readonly line: Buffer; readonly message: Response };

export type TurnsOptions = {
  readonly editor: LineWriter;
  readonly agent: LineWriter;
  readonly sessions: Sessions;
  readonly permissions: Permissions;
};
export type Turns = {
  /** Answers a person's prompt that is for stopgate, which the agent does not get. Returns false if it is for the agent. */
  answers(prompt: Request): boolean;
  begin(prompt: Request): void;
  /** Returns undefined if it answers no prompt; else it resolves when the editor or the agent has what follows. */
  end(answer: Answer): Promise<void> | undefined;
  /**
   * Returns the notification that the agent gets instead; null if it gets none, since its subject is over for the
   * agent.
   */
  cancel(notification: Notification): object | 'as it came' | null;
  /** The agent is at a tool of this session: it is stopped there if a budget is used up. */
  atTool(sessionId: string): void;
  /** Nobody is prompted again. */
  close(): void;
};

export function createTurns(options: TurnsOptions): Turns {
  const turns = new Set<Turn>();
  return {
    answers({ id, params }) {
      const read = promptParams.safeParse(params);
      const command = read.success ? readPersonCommand(wordsOf(read.data.prompt)) : null;
      if (!read.success || command === null) return false;
      const { editor, sessions } = options;
      const session = sessions.get(read.data.sessionId);
      void session
        .obey(command)
        .catch((error: AppError) => `stopgate: this was not done: ${plainText(error.message)}`)
        .then(async (text) => {
          say(editor, session, text);
          await editor.write(resultOf(id, { stopReason: 'end_turn' }));
        });
      return true;
    },
    begin({ id, params }) {
      const read = promptParams.safeParse(params);
      if (!read.success) return;
      const session = options.sessions.get(read.data.sessionId);
      session.prompt(wordsOf(read.data.prompt));
      turns.add({
        session,
        id,
        agentId: id,
        cancelled: new AbortController(),
        budget: null,
        promptedMs: performance.now(),
        pauses: createTurnPauses(),
      });
    },
    end(answer) {
      const key = keyOf(answer.message.id);
      const turn = [...turns].find(({ agentId }) => agentId !== null && keyOf(agentId) === key);
      if (turn === undefined) return undefined;
      options.permissions.endOf(turn.session.id);
      return endModelTurn(turn, answer, options)
        .catch(async (bug: unknown) => {
          // The editor waits for it, whatever has gone wrong here.
          turn.agentId = null;
          await options.editor.write({ ...answer.message.whole, id: turn.id });
          throw bug;
        })
        .finally(() => {
          if (turn.agentId === null) turns.delete(turn);
        });
    },
    cancel({ method, params }) {
      const session = method === methods.cancel ? inSession.safeParse(params).data?.sessionId : undefined;
      const request = method === methods.cancelRequest ? cancelledRequest.safeParse(params).data?.requestId : undefined;
      const meant = [...turns].filter(
        (turn) => turn.session.id === session || (request !== undefined && keyOf(turn.id) === keyOf(request)),
      );
      for (const { cancelled } of meant) cancelled.abort();
      const [turn] = meant;
      if (turn === undefined) return 'as it came';
      if (meant.every(({ agentId }) => agentId === null)) return null;
      if (request === undefined || turn.agentId === turn.id) return 'as it came';
      return { jsonrpc: '2.0', method, params: { ...(params as object), requestId: turn.agentId } };
    },
    atTool(sessionId) {
      for (const turn of turns) if (turn.session.id === sessionId) void stopIfUsedUp(turn, options);
    },
    close() {
      for (const { cancelled } of turns) cancelled.abort();
    },
  };
}

const wordsOf = (
  prompt: readonly { readonly type?: string | undefined; readonly text?: string | undefined }[],
): string => prompt.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : [])).join('\n');

/** A service that is away says nothing of it now, and the next tool looks again. */
async function stopIfUsedUp(turn: Turn, { editor, agent, permissions }: TurnsOptions): Promise<void> {
  const { session, cancelled } = turn;
  if (turn.budget !== null || turn.agentId === null) return;
  turn.budget = 'looking';
  const limit = await session.usedUp();
  turn.budget = null;
  // It may have ended meanwhile, and is judged as always.
  if (limit === null || turn.agentId === null || cancelled.signal.aborted) return;
  turn.budget = 'used up';
  say(editor, session, `stopgate: the budget is used up (${limit}), so the agent is told to stop.`);
  permissions.cancel(session.id);
  await agent.write(cancelSession(session.id));
}

/** The agent has answered: what the editor gets for it, or the agent next. `turn.agentId` is null if the turn is over. */
async function endModelTurn(turn: Turn, { line, message }: Answer, { editor, agent }: TurnsOptions): Promise<void> {
  const { session, id, cancelled } = turn;
  const isOwn = turn.agentId !== id;
  const tookMs = performance.now() - turn.promptedMs;
  turn.agentId = null;
  const passOn = () => editor.write(isOwn ? { ...message.whole, id } : line);
  const ended = turnEnded.safeParse(message.result);
  if (!ended.success) {
    session.failed(message.error);
    return passOn();
  }
  const { stopReason } = ended.data;
  session.answered(usageIn(ended.data));
  if ((stopReason === 'cancelled' && turn.budget !== 'used up') || cancelled.signal.aborted) {
    // Nobody waits for this decision, and nobody would obey it: it stands in the log as a stop like others.
    void session.decide('cancelled').catch(() => {});
    return passOn();
  }
  const decision = await decide(session, stopReason, cancelled.signal);
  if (decision === 'cancelled') return editor.write(resultOf(id, { stopReason: 'cancelled' }));
  if (decision instanceof Error) {
    say(editor, session, `stopgate: this stop was not judged: ${plainText(decision.message)}`);
    return passOn();
  }
  // Another prompt of the same session has ended the attempt; its own turn is judged.
  if (decision.decision === 'allow' || decision.cause === 'superseded') {
    const told = allowNote({ worker: session.worker }, decision) as { readonly note: string } | null;
    if (told !== null) say(editor, session, told.note);
    return passOn();
  }
  const waitMs = turn.pauses.after(tookMs);
  say(editor, session, describeBlock(decision, waitMs));
  await sleep(waitMs, cancelled.signal);
  if (cancelled.signal.aborted) return editor.write(resultOf(id, { stopReason: 'cancelled' }));
  session.reprompt();
  [turn.promptedMs, turn.budget] = [performance.now(), null];
  turn.agentId = `stopgate-${randomUUID()}`;
  return agent.write(promptRequest(turn.agentId, session.id, blockText(decision)));
}

type Ended = ReturnType<typeof turnEnded.parse>;

function usageIn({ usage, _meta }: Ended): TokenUsage | undefined {
  const tokens = _meta?.quota.token_count;
  return usage ?? (tokens && { inputTokens: tokens.input_tokens, outputTokens: tokens.output_tokens });
}

/** At once where the turn is cancelled meanwhile: a stop may be held for minutes. */
async function decide(
  session: Session,
  stopReason: string,
  signal: AbortSignal,
): Promise<Judgement | AppError | 'cancelled'> {
  const cancelled = sleep(null, signal).then(() => 'cancelled' as const);
  return Promise.race([cancelled, session.decide(stopReason).catch((error: AppError) => error)]);
}

/** In a paragraph and a chunk of its own, so that it begins with our name wherever it is shown. */
export function say(editor: LineWriter, session: Session, words: string): void {
  if (session.hasSpoken()) void editor.write(agentText(session.id, '\n\n'));
  void editor.write(agentText(session.id, words));
  void editor.write(agentText(session.id, '\n\n'));
}

/** For the person; the agent gets the next prompt alone. */
function describeBlock(decision: Judgement, waitMs: number): string {
  const { retry, reason } = decision;
  const next = blockText(decision);
  const why = plainText(reason) || next;
  const count = retry.max === null || retry.count === 0 ? '' : ` (${retry.count} of ${retry.max})`;
  // Mostly it is the reason in other words.
  const told = next.includes(why) ? '' : `\n\nThe agent is told: ${next}`;
  const pause = waitMs === 0 ? '' : `\n\nIt stopped at once, so it is told in ${formatDuration(waitMs)}.`;
  return `stopgate: this stop was blocked${count}: ${why}${told}${pause}`;
}
