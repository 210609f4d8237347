/**
 * What every agent's adapter gives the edges (the HTTP hook endpoint, the command line's `hook`): one hook call read,
 * translated and answered. Pure: no clock, no I/O, nothing remembered between calls; what was before is looked up by
 * the edge and handed in as `KnownWorker`.
 */
import type { AttemptFields, Decision, WorkerView } from '../../machines/index.ts';
import type { NewEntry } from '../service/service.ts';

/** What the fleet knows of the call's worker before the call. */
export type KnownWorker = {
  /** False: no adapter has registered it yet, so the first call must. */
  readonly registered: boolean;
  /** Where it was registered; an agent may walk to other folders later. */
  readonly cwd: string | null;
  readonly lastDecision: Pick<Decision, 'decision' | 'reason' | 'nextPrompt'> | null;
  readonly background: readonly string[];
  readonly awaitsInput: boolean;
  /** A usage limit holds. */
  readonly limited: boolean;
};

export const unknownWorker: KnownWorker = Object.freeze({
  registered: false,
  cwd: null,
  lastDecision: null,
  background: [],
  awaitsInput: false,
  limited: false,
});

/** A worker without an agent was made by somebody else's entry (a claim, say) and still lacks its folder. */
export function knownFrom(view: WorkerView): KnownWorker {
  const { agent, cwd, lastDecision, background, awaitsInput, presence } = view;
  return { registered: agent !== null, cwd, lastDecision, background, awaitsInput, limited: presence === 'limited' };
}

export type Translation = {
  readonly worker: string;
  /** To be stored in this order, before the stop is judged. */
  readonly entries: readonly NewEntry[];
  /** Not null: the agent wants to stop, and waits for the decision. `attempt` is given only where the agent has one. */
  readonly stop: AttemptFields | null;
};

export type HookCall = {
  readonly worker: string;
  /** The agent's own name of the event. */
  readonly event: string;
  translate(known: KnownWorker): Translation;
  /** What to tell the agent; null: an empty answer, which lets it go on (or stop). */
  answer(decision: Pick<Decision, 'decision' | 'reason' | 'nextPrompt'>): object | null;
};

/** @throws AppError input.bad: not a hook call of this agent */
export type ReadHook = (body: unknown) => HookCall;
