/**
 * Tracks an agent's questions to a person. The editor shows each one as usual, and the fleet's inbox lists it until it
 * is answered. If the policy has `ask`, an operator can answer a permission request there too; the first answer wins.
 */
import type { InputAnswer, WorkerView } from '../../machines/index.ts';
import type { EntryDraft } from '../agents/shared/entry-drafts.ts';
import { denialText, describeToolRequest, type InputFields, newRequest } from '../agents/shared/permission-requests.ts';
import { shownText } from '../agents/shared/secrets.ts';
import { startTimer, type Timer } from '../timer.ts';
import {
  cancelOf,
  elicitationParams,
  keyOf,
  methods,
  type PermissionOption,
  permissionParams,
  type Request,
  resultOf,
} from './messages.ts';
import { toolName } from './session-drafts.ts';

/** The protocol's limit for one worker (protocol.md §2). Beyond it, the oldest is no longer tracked. */
const openMax = 64;
/** Interval for polling the worker's view for an operator's answer. Nobody notices a delay of one second. */
const pollMs = 1_000;
const messageCharsMax = 500;

export type Asker = {
  readonly sessionId: string;
  record(draft: EntryDraft): void;
  view(): Promise<WorkerView>;
  /** How long the policy waits for an operator's answer; null if it has no `ask`. */
  readonly askMs: number | null;
  say(words: string): void;
};

type Open = {
  readonly asker: Asker;
  readonly id: Request['id'];
  readonly input: InputFields;
  readonly options: readonly PermissionOption[];
  /** Its id in the log; null if only the editor can answer it. */
  request: string | null;
  timer: Timer | null;
};

export type Permissions = {
  /** Tracks a request of the agent. Returns false if it is not a question to a person. */
  open(request: Request, askerOf: (sessionId: string) => Asker): boolean;
  /** Handles the editor's answer. Returns true if an operator was faster and the answer must not reach the agent. */
  answered(id: Request['id']): boolean;
  /** Closes the open questions of an agent that has ended its turn. */
  endOf(sessionId: string): void;
  /** Cancels the open questions on both sides, because we end the agent's turn. */
  cancel(sessionId: string): void;
  close(): void;
};
type Writers = { readonly toAgent: (message: object) => void; readonly toEditor: (message: object) => void };

export function createPermissions(writers: Writers): Permissions {
  const open = new Map<string, Open>();
  /** Questions that an operator answered, whose answer from the editor is still to come. */
  const settled = new Set<string>();

  const end = (question: Open): void => {
    question.timer?.clear();
    open.delete(keyOf(question.id));
  };
  /** An `input.received` without a request id ends all requests without one, so only the last of them records it. */
  const recordEnd = ({ asker, request }: Open): void => {
    if (request !== null) asker.record({ type: 'input.received', data: { request } });
    else if (![...open.values()].some((other) => other.asker.sessionId === asker.sessionId && other.request === null))
      asker.record({ type: 'input.received', data: {} });
  };
  const ignoreEditor = (question: Open): void => {
    settled.add(keyOf(question.id));
    if (settled.size > openMax) settled.delete(settled.keys().next().value as string);
  };
  const settle = (question: Open, answer: InputAnswer): void => {
    end(question);
    ignoreEditor(question);
    deliver(question, answer, writers);
  };

  const openOf = (sessionId: string) => [...open.values()].filter(({ asker }) => asker.sessionId === sessionId);
  return {
    open({ id, method, params }, askerOf) {
      const read = readInput(method, params);
      if (read === null) return false;
      const { sessionId, input, options } = read;
      const asker = askerOf(sessionId);
      const isHeld = asker.askMs !== null && input.kind === 'permission';
      const question: Open = { asker, id, input, options, request: isHeld ? newRequest(undefined) : null, timer: null };
      const [oldest] = open.values();
      if (open.size >= openMax && oldest !== undefined) end(oldest);
      open.set(keyOf(id), question);
      asker.record({
        type: 'input.requested',
        data: { ...input, ...(question.request && { request: question.request }) },
      });
      if (isHeld) hold(question, () => open.get(keyOf(id)) === question, settle);
      return true;
    },
    answered(id) {
      if (settled.delete(keyOf(id))) return true;
      const question = open.get(keyOf(id));
      if (question === undefined) return false;
      end(question);
      recordEnd(question);
      return false;
    },
    endOf(sessionId) {
      for (const question of openOf(sessionId)) {
        end(question);
        recordEnd(question);
      }
    },
    cancel(sessionId) {
      for (const question of openOf(sessionId)) {
        end(question);
        recordEnd(question);
        ignoreEditor(question);
        writers.toAgent(resultOf(question.id, { outcome: { outcome: 'cancelled' } }));
        writers.toEditor(cancelOf(question.id));
      }
    },
    close() {
      for (const question of open.values()) question.timer?.clear();
      open.clear();
    },
  };
}

/** Polls for an operator's answer until there is one, the request ends, or the policy's time is up. */
function hold(question: Open, isOpen: () => boolean, settle: (question: Open, answer: InputAnswer) => void): void {
  const { asker, input, request } = question;
  const untilMs = performance.now() + (asker.askMs ?? 0);
  const poll = async (): Promise<void> => {
    // If the service is unreachable, try again at the next poll.
    const view = await asker.view().catch(() => null);
    if (!isOpen()) return;
    if (view !== null && view.lastAnswer?.request === request) settle(question, view.lastAnswer);
    else if (performance.now() < untilMs) pollLater();
    else {
      // From now on, only the editor can answer.
      asker.record({ type: 'input.received', data: { request } });
      question.request = null;
      asker.record({ type: 'input.requested', data: input });
    }
  };
  const pollLater = () => {
    question.timer = startTimer(pollMs, () => void poll());
  };
  pollLater();
}

/** Sends the operator's answer to the agent and withdraws the question from the editor. */
function deliver({ asker, id, options }: Open, answer: InputAnswer, { toAgent, toEditor }: Writers): void {
  const isAllowed = answer.verdict === 'allow';
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const [chosen] = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? []);
  const outcome = chosen === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: chosen.optionId };
  toAgent(resultOf(id, { outcome }));
  toEditor(cancelOf(id));
  asker.say(`stopgate: ${isAllowed ? `${answer.by} has allowed this, as an operator.` : denialText(answer)}`);
}

type Input = {
  readonly sessionId: string;
  readonly input: InputFields;
  readonly options: readonly PermissionOption[];
};

/** Returns null if the request is not a question to a person. */
function readInput(method: string, params: unknown): Input | null {
  if (method === methods.permission) {
    const read = permissionParams.safeParse(params);
    if (!read.success) return null;
    const { sessionId, toolCall, options } = read.data;
    const { title, rawInput } = toolCall;
    const message = title === undefined ? {} : { message: shownText(title, messageCharsMax) };
    const input = { ...describeToolRequest('permission', toolName(toolCall), rawInput), ...message };
    return { sessionId, input, options };
  }
  if (method !== methods.elicitation) return null;
  const read = elicitationParams.safeParse(params);
  if (!read.success) return null;
  const { sessionId, message = '' } = read.data;
  return { sessionId, input: { kind: 'question', message: shownText(message, messageCharsMax) }, options: [] };
}
