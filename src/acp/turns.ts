/**
 * The turns of an agent, as long as the editor sees them.
 *
 * 1. A turn begins with the editor's `session/prompt`, which the agent gets under the editor's id.
 * 2. The agent's answer ends it. It is kept while the stop is decided.
 * 3. A block: the agent gets the next prompt, under an id of ours, and we are at 2.
 * 4. Otherwise the editor gets the last answer under its own id.
 *
 * A turn that is cancelled, in whatever step, is never prompted again.
 */
import { randomUUID } from 'node:crypto';
import { allowNote, blockText } from '../agents/shared/block-text.ts';
import { plainText } from '../agents/shared/text.ts';
import type { AppError } from '../errors.ts';
import type { LineWriter } from './lines.ts';
import {
  agentText,
  cancelledRequest,
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
  turnEnded,
} from './messages.ts';
import type { Permissions } from './permissions.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Judgement } from './worker-link.ts';

type Turn = {
  readonly session: Session;
  /** Of the editor's request. */
  readonly id: RpcId;
  /** Under which the agent has the current prompt. Null: it has answered, and the stop is being decided. */
  agentId: RpcId | null;
  readonly cancelled: AbortController;
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
  begin(prompt: Request): void;
  /** Undefined: it answers no prompt. Resolves when the editor or the agent has what follows. */
  end(answer: Answer): Promise<void> | undefined;
  /** What the agent gets of it; null: nothing, since what it is about is over for the agent. */
  cancel(notification: Notification): object | 'as it came' | null;
};

export function createTurns(options: TurnsOptions): Turns {
  const turns = new Set<Turn>();
  return {
    begin({ id, params }) {
      const read = promptParams.safeParse(params);
      if (!read.success) return;
      const session = options.sessions.get(read.data.sessionId);
      session.prompt(read.data.prompt.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : [])).join('\n'));
      turns.add({ session, id, agentId: id, cancelled: new AbortController() });
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
  };
}

/** The agent has answered: what the editor gets for it, or the agent next. `turn.agentId` is null if the turn is over. */
async function endModelTurn(turn: Turn, { line, message }: Answer, { editor, agent }: TurnsOptions): Promise<void> {
  const { session, id, cancelled } = turn;
  const isOwn = turn.agentId !== id;
  turn.agentId = null;
  const passOn = () => editor.write(isOwn ? { ...message.whole, id } : line);
  const ended = turnEnded.safeParse(message.result);
  if (!ended.success) {
    session.failed(message.error);
    return passOn();
  }
  const { stopReason, usage } = ended.data;
  session.answered(usage);
  if (stopReason === 'cancelled' || cancelled.signal.aborted) {
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
  say(editor, session, describeBlock(decision));
  session.reprompt();
  turn.agentId = `stopgate-${randomUUID()}`;
  return agent.write(promptRequest(turn.agentId, session.id, blockText(decision)));
}

/** At once where the turn is cancelled meanwhile: a stop may be held for minutes. */
async function decide(
  session: Session,
  stopReason: string,
  signal: AbortSignal,
): Promise<Judgement | AppError | 'cancelled'> {
  const cancelled = new Promise<'cancelled'>((resolve) => {
    signal.addEventListener('abort', () => resolve('cancelled'), { once: true });
  });
  return Promise.race([cancelled, session.decide(stopReason).catch((error: AppError) => error)]);
}

/** In a paragraph and a chunk of its own, so that it begins with our name wherever it is shown. */
export function say(editor: LineWriter, session: Session, words: string): void {
  if (session.hasSpoken()) void editor.write(agentText(session.id, '\n\n'));
  void editor.write(agentText(session.id, words));
  void editor.write(agentText(session.id, '\n\n'));
}

/** For the person; the agent gets the next prompt alone. */
function describeBlock(decision: Judgement): string {
  const { retry, reason } = decision;
  const next = blockText(decision);
  const why = plainText(reason) || next;
  const count = retry.max === null || retry.count === 0 ? '' : ` (${retry.count} of ${retry.max})`;
  // Mostly it is the reason in other words.
  const told = next.includes(why) ? '' : `\n\nThe agent is told: ${next}`;
  return `stopgate: this stop was blocked${count}: ${why}${told}`;
}
