/**
 * Handles what an agent asks a person. The editor shows it as always, and the fleet's inbox lists it until it is
 * answered. Where the policy has `ask`, an operator may answer a permission there too: whoever answers first counts.
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

/** Also the bound of the protocol for one worker (§2); of more at the same time the oldest is no longer followed. */
const openMax = 64;
/** An operator's answer is in the worker's view; nobody notices a second. */
const lookMs = 1_000;
const messageCharsMax = 500;

export type Asker = {
  readonly sessionId: string;
  record(draft: EntryDraft): void;
  view(): Promise<WorkerView>;
  /** Its policy holds a request this long for an operator; null: not at all. */
  readonly askMs: number | null;
  say(words: string): void;
};

type Open = {
  readonly asker: Asker;
  readonly id: Request['id'];
  readonly input: InputFields;
  readonly options: readonly PermissionOption[];
  /** Its name in the log. Null: nobody but the editor can answer it. */
  request: string | null;
  timer: Timer | null;
};

export type Permissions = {
  /** The agent asks. False: it is no question to a person. */
  open(request: Request, askerOf: (sessionId: string) => Asker): boolean;
  /** The editor's answer. True: an operator was quicker, so it must not reach the agent. */
  answered(id: Request['id']): boolean;
  /** The agent's turn is over: it waits no more for what is still open. */
  endOf(sessionId: string): void;
  /** We end the agent's turn: it gets no answer to what is still open, and its editor need not give one. */
  cancel(sessionId: string): void;
  close(): void;
};
type Writers = { readonly toAgent: (message: object) => void; readonly toEditor: (message: object) => void };

export function createPermissions(writers: Writers): Permissions {
  const open = new Map<string, Open>();
  /** Answered by an operator; the editor's own answer still comes. */
  const settled = new Set<string>();

  const end = (it: Open): void => {
    it.timer?.clear();
    open.delete(keyOf(it.id));
  };
  /** A request without a name ends with all of its kind, so the last of them ends it. */
  const recordEnd = ({ asker, request }: Open): void => {
    if (request !== null) asker.record({ type: 'input.received', data: { request } });
    else if (![...open.values()].some((it) => it.asker.sessionId === asker.sessionId && it.request === null))
      asker.record({ type: 'input.received', data: {} });
  };
  const leave = (it: Open): void => {
    settled.add(keyOf(it.id));
    if (settled.size > openMax) settled.delete(settled.keys().next().value as string);
  };
  const settle = (it: Open, given: InputAnswer): void => {
    end(it);
    leave(it);
    tell(it, given, writers);
  };

  const openOf = (sessionId: string) => [...open.values()].filter(({ asker }) => asker.sessionId === sessionId);
  return {
    open({ id, method, params }, askerOf) {
      const read = readInput(method, params);
      if (read === null) return false;
      const { sessionId, input, options } = read;
      const asker = askerOf(sessionId);
      const isHeld = asker.askMs !== null && input.kind === 'permission';
      const it: Open = { asker, id, input, options, request: isHeld ? newRequest(undefined) : null, timer: null };
      const [oldest] = open.values();
      if (open.size >= openMax && oldest !== undefined) end(oldest);
      open.set(keyOf(id), it);
      asker.record({ type: 'input.requested', data: { ...input, ...(it.request && { request: it.request }) } });
      if (isHeld) hold(it, () => open.get(keyOf(id)) === it, settle);
      return true;
    },
    answered(id) {
      if (settled.delete(keyOf(id))) return true;
      const it = open.get(keyOf(id));
      if (it === undefined) return false;
      end(it);
      recordEnd(it);
      return false;
    },
    endOf(sessionId) {
      for (const it of openOf(sessionId)) {
        end(it);
        recordEnd(it);
      }
    },
    cancel(sessionId) {
      for (const it of openOf(sessionId)) {
        end(it);
        recordEnd(it);
        leave(it);
        writers.toAgent(resultOf(it.id, { outcome: { outcome: 'cancelled' } }));
        writers.toEditor(cancelOf(it.id));
      }
    },
    close() {
      for (const it of open.values()) it.timer?.clear();
      open.clear();
    },
  };
}

/** Looks for an operator's answer until there is one, the request is over, or the policy's time is up. */
function hold(it: Open, isOpen: () => boolean, settle: (it: Open, given: InputAnswer) => void): void {
  const { asker, input, request } = it;
  const untilMs = performance.now() + (asker.askMs ?? 0);
  const look = async (): Promise<void> => {
    // A service that is away may be back at the next look.
    const view = await asker.view().catch(() => null);
    if (!isOpen()) return;
    if (view !== null && view.lastAnswer?.request === request) settle(it, view.lastAnswer);
    else if (performance.now() < untilMs) lookLater();
    else {
      // From here on the editor alone can answer it.
      asker.record({ type: 'input.received', data: { request } });
      it.request = null;
      asker.record({ type: 'input.requested', data: input });
    }
  };
  const lookLater = () => {
    it.timer = startTimer(lookMs, () => void look());
  };
  lookLater();
}

/** The agent gets the operator's answer, and the editor is told that its own is no longer needed. */
function tell({ asker, id, options }: Open, given: InputAnswer, { toAgent, toEditor }: Writers): void {
  const isAllowed = given.verdict === 'allow';
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const [chosen] = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? []);
  const outcome = chosen === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: chosen.optionId };
  toAgent(resultOf(id, { outcome }));
  toEditor(cancelOf(id));
  asker.say(`stopgate: ${isAllowed ? `${given.by} has allowed this, as an operator.` : denialText(given)}`);
}

type Input = {
  readonly sessionId: string;
  readonly input: InputFields;
  readonly options: readonly PermissionOption[];
};

/** Returns null if it asks nothing of a person. */
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
