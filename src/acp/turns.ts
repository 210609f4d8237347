/**
 * An agent's turns as the editor sees them.
 *
 * 1. A turn begins with the editor's `session/prompt`, which we forward under the editor's id.
 * 2. The agent's answer ends the model's turn. We keep it while the stop is decided.
 * 3. On a block we send the agent the next prompt under our own id, and continue with 2.
 * 4. On an allow we send the editor the last answer under the editor's id.
 *
 * A cancelled turn is never prompted again. When a budget is used up, we cancel the turn at the agent's next tool and
 * then judge the stop.
 */
import { randomUUID } from 'node:crypto';
import { formatDuration } from '../../machines/index.ts';
import { allowNote, blockText } from '../agents/shared/block-text.ts';
import { type PersonCommand, readPersonCommand } from '../agents/shared/person-command.ts';
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

/** Work that is stopped when its budget is used up. */
export type BudgetWatch = {
  readonly session: Session;
  /** `looking` while the budget is checked; `used up` once the agent was told to stop. */
  budget: 'looking' | 'used up' | null;
  /** True while the agent is working and nobody has cancelled the work. */
  isWorking(): boolean;
};

type Turn = BudgetWatch & {
  /** The id of the editor's request. */
  readonly id: RpcId;
  /** The id of the prompt that the agent is working on; null while its stop is decided. */
  agentId: RpcId | null;
  readonly cancelled: AbortController;
  /** When the current prompt was sent, by `performance.now()`. */
  promptedMs: number;
  /** Delays before another prompt: repeated immediate blocks cost money. */
  readonly pauses: TurnPauses;
};
/** The agent's answer to a prompt: the raw line and the parsed message. */
type Answer = { readonly line: Buffer; readonly message: Response };

export type TurnsOptions = {
  readonly editor: LineWriter;
  readonly agent: LineWriter;
  readonly sessions: Sessions;
  readonly permissions: Permissions;
  /** Reports a bug of ours. */
  readonly report: (bug: unknown) => void;
};
export type Turns = {
  /** Answers a prompt that is a command to stopgate. Returns false if the prompt is for the agent. */
  answers(prompt: Request): boolean;
  begin(prompt: Request): void;
  /**
   * Resolves when the editor or the agent has received the next message. Returns undefined if `answer` ends no turn.
   */
  end(answer: Answer): Promise<void> | undefined;
  /** Returns what to send to the agent instead; null for nothing, if the agent has already ended that turn. */
  cancel(notification: Notification): object | 'unchanged' | null;
  /** The agent starts a tool in this session. Stops the agent if its budget is used up. */
  atTool(sessionId: string): void;
  /** Cancels all turns, so that no agent is prompted again. */
  close(): void;
};

export function createTurns(options: TurnsOptions): Turns {
  const turns = new Set<Turn>();
  return {
    answers({ id, params }) {
      const found = readCommand(params);
      if (found === null) return false;
      const { editor, sessions } = options;
      const session = sessions.get(found.sessionId);
      void runCommand(session, found.command).then(async (words) => {
        say(editor, session, words);
        await editor.write(resultOf(id, { stopReason: 'end_turn' }));
      });
      return true;
    },
    begin({ id, params }) {
      const read = promptParams.safeParse(params);
      if (!read.success) return;
      const session = options.sessions.get(read.data.sessionId);
      session.prompt(wordsOf(read.data.prompt));
      const turn: Turn = {
        session,
        id,
        agentId: id,
        cancelled: new AbortController(),
        budget: null,
        isWorking: () => turn.agentId !== null && !turn.cancelled.signal.aborted,
        promptedMs: performance.now(),
        pauses: createTurnPauses(),
      };
      turns.add(turn);
    },
    end(answer) {
      const key = keyOf(answer.message.id);
      const turn = [...turns].find(({ agentId }) => agentId !== null && keyOf(agentId) === key);
      if (turn === undefined) return undefined;
      options.permissions.endOf(turn.session.id);
      return endModelTurn(turn, answer, options)
        .catch(async (bug: unknown) => {
          // The editor still waits for its answer.
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
      const targets = [...turns].filter(
        (turn) => turn.session.id === session || (request !== undefined && keyOf(turn.id) === keyOf(request)),
      );
      for (const { cancelled } of targets) cancelled.abort();
      const [turn] = targets;
      if (turn === undefined) return 'unchanged';
      if (targets.every(({ agentId }) => agentId === null)) return null;
      if (request === undefined || turn.agentId === turn.id) return 'unchanged';
      return { jsonrpc: '2.0', method, params: { ...(params as object), requestId: turn.agentId } };
    },
    atTool(sessionId) {
      for (const turn of turns) {
        if (turn.session.id === sessionId)
          void stopIfUsedUp(turn, (words) => say(options.editor, turn.session, words), options);
      }
    },
    close() {
      for (const { cancelled } of turns) cancelled.abort();
    },
  };
}

export const wordsOf = (
  prompt: readonly { readonly type?: string | undefined; readonly text?: string | undefined }[],
): string => prompt.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : [])).join('\n');

type FoundCommand = { readonly sessionId: string; readonly words: string; readonly command: PersonCommand };

/** Returns null if the prompt is not a command to stopgate. */
export function readCommand(params: unknown): FoundCommand | null {
  const read = promptParams.safeParse(params);
  if (!read.success) return null;
  const words = wordsOf(read.data.prompt);
  const command = readPersonCommand(words);
  return command === null ? null : { sessionId: read.data.sessionId, words, command };
}

/** Resolves to the reply. Never rejects. */
export const runCommand = (session: Session, command: PersonCommand): Promise<string> =>
  session.obey(command).catch((error: AppError) => `stopgate: the command failed: ${plainText(error.message)}`);

/** If the service is unreachable, the budget is checked again at the next tool. */
export async function stopIfUsedUp(
  watch: BudgetWatch,
  speak: (words: string) => void,
  { agent, permissions }: Pick<TurnsOptions, 'agent' | 'permissions'>,
): Promise<void> {
  const { session } = watch;
  if (watch.budget !== null || !watch.isWorking()) return;
  watch.budget = 'looking';
  const limit = await session.usedUp();
  watch.budget = null;
  // If the work has ended in the meantime, its stop is judged as usual.
  if (limit === null || !watch.isWorking()) return;
  watch.budget = 'used up';
  speak(`stopgate: the budget is used up (${limit}); the agent was told to stop.`);
  permissions.cancel(session.id);
  await agent.write(cancelSession(session.id));
}

/** Decides what follows the agent's answer. `turn.agentId` is null afterwards if the turn is over. */
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
  if (session.endedAtLimit()) return passOn();
  session.answered(usageIn(ended.data));
  if ((stopReason === 'cancelled' && turn.budget !== 'used up') || cancelled.signal.aborted) {
    // The decision is not awaited or obeyed; it only records the stop in the log.
    void session.decide('cancelled').catch(() => {});
    return passOn();
  }
  const decision = await decide(session, stopReason, cancelled.signal);
  if (decision === 'cancelled') return editor.write(resultOf(id, { stopReason: 'cancelled' }));
  if (decision instanceof Error) {
    say(editor, session, `stopgate: this stop was not judged: ${plainText(decision.message)}`);
    return passOn();
  }
  // Superseded: another prompt of this session ended the attempt, and that prompt's own turn will be judged.
  if (decision.decision === 'allow' || decision.cause === 'superseded') {
    const note = noteOf(session, decision);
    if (note !== null) say(editor, session, note);
    return passOn();
  }
  const waitMs = turn.pauses.after(tookMs);
  say(editor, session, describeBlock(decision, waitMs));
  await sleep(waitMs, cancelled.signal);
  if (cancelled.signal.aborted) return editor.write(resultOf(id, { stopReason: 'cancelled' }));
  session.reprompt();
  turn.promptedMs = performance.now();
  turn.budget = null;
  turn.agentId = `stopgate-${randomUUID()}`;
  return agent.write(promptRequest(turn.agentId, session.id, blockText(decision)));
}

/** The message for the person about a stop that was allowed, or null. */
export const noteOf = ({ worker }: Session, decision: Judgement): string | null =>
  (allowNote({ worker }, decision) as { readonly note: string } | null)?.note ?? null;

type Ended = ReturnType<typeof turnEnded.parse>;

function usageIn({ usage, _meta }: Ended): TokenUsage | undefined {
  const tokens = _meta?.quota.token_count;
  return usage ?? (tokens && { inputTokens: tokens.input_tokens, outputTokens: tokens.output_tokens });
}

/** Resolves early if the turn is cancelled, because a stop may be held for minutes. */
export async function decide(
  session: Session,
  stopReason: string,
  signal: AbortSignal,
): Promise<Judgement | AppError | 'cancelled'> {
  const cancelled = sleep(null, signal).then(() => 'cancelled' as const);
  return Promise.race([cancelled, session.decide(stopReason).catch((error: AppError) => error)]);
}

/** Sends a message as a separate chunk and paragraph, so that it begins with our name wherever it is shown. */
export function say(editor: LineWriter, session: Session, words: string): void {
  if (session.hasSpoken()) void editor.write(agentText(session.id, '\n\n'));
  void editor.write(agentText(session.id, words));
  void editor.write(agentText(session.id, '\n\n'));
}

/** Describes a block to the person. The agent itself only receives the next prompt. */
export function describeBlock(decision: Judgement, waitMs: number): string {
  const { retry, reason } = decision;
  const next = blockText(decision);
  const why = plainText(reason) || next;
  const count = retry.max === null || retry.count === 0 ? '' : ` (${retry.count} of ${retry.max})`;
  // The prompt usually repeats the reason.
  const prompt = next.includes(why) ? '' : `\n\nNext prompt for the agent: ${next}`;
  const pause = waitMs === 0 ? '' : `\n\nIt stopped immediately, so it is prompted again in ${formatDuration(waitMs)}.`;
  return `stopgate: this stop was blocked${count}: ${why}${prompt}${pause}`;
}
