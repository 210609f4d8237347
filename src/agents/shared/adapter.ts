/**
 * What every agent's adapter gives the edges (the HTTP hook endpoint, the command line's `hook`): one hook call read,
 * translated and answered. Pure: no clock, no I/O, nothing remembered between calls; what was before is looked up by
 * the edge and handed in as `KnownWorker`.
 */
import type { AttemptFields, Decision, Plan, WorkerView } from '../../../machines/index.ts';
import type { NewEntry } from '../../service/service.ts';
import type { Look } from './unsolicited-checks.ts';

/** What the fleet knows of the call's worker before the call. */
export type KnownWorker = {
  /** It was let go, or its session has ended. */
  readonly stopped: boolean;
  /** False: no adapter has registered it yet, so the first call must. */
  readonly registered: boolean;
  /** The worker that it is a sub-agent of. */
  readonly parent: string | null;
  /** Where it was registered; an agent may walk to other folders later. */
  readonly cwd: string | null;
  readonly plan: Plan;
  readonly lastDecision: Told | null;
  readonly background: readonly string[];
  readonly awaitsInput: boolean;
  /** A usage limit holds. */
  readonly limited: boolean;
  /** A person must look first, and has not. */
  readonly escalated: boolean;
  /** What a person said when resolving its escalation, until it is prompted or registered again. */
  readonly resolution: string | null;
};

export const unknownWorker: KnownWorker = Object.freeze({
  stopped: false,
  registered: false,
  parent: null,
  cwd: null,
  plan: [],
  lastDecision: null,
  background: [],
  awaitsInput: false,
  limited: false,
  escalated: false,
  resolution: null,
});

/** A worker without an agent was made by somebody else's entry (a claim, say) and still lacks its folder. */
export function knownFrom(view: WorkerView): KnownWorker {
  const { agent, parent, cwd, plan, lastDecision, background, awaitsInput } = view;
  return {
    stopped: view.state === 'stopped',
    registered: agent !== null,
    ...{ parent, cwd, plan, lastDecision, background, awaitsInput },
    limited: view.presence === 'limited',
    escalated: view.escalation !== null,
    resolution: view.resolution?.prompt ?? null,
  };
}

export type Translation = {
  readonly worker: string;
  /** To be stored in this order, before the stop is judged. */
  readonly entries: readonly NewEntry[];
  /** Not null: the agent wants to stop, and waits for the decision. `attempt` is given only where the agent has one. */
  readonly stop: AttemptFields | null;
  /** Not null: it asks for nothing, and may be told something all the same. */
  readonly look: Look | null;
  /** Not null: it is told this, whatever else; then nothing is asked. */
  readonly tell: object | null;
};

/** What of a decision an agent may repeat. */
export type Told = Pick<Decision, 'decision' | 'reason' | 'nextPrompt'>;
/** What of a decision an answer is made of. */
export type Answerable = Told & Pick<Decision, 'action'>;

export type HookCall = {
  readonly worker: string;
  /** The agent's own name of the event. */
  readonly event: string;
  translate(known: KnownWorker): Translation;
  /**
   * What to tell the agent; null: an empty answer, which lets it go on (or stop). `look`: what the decision was asked
   * for, if not for a stop; then only one that `isNews` (see looks.ts).
   */
  answer(decision: Answerable, look?: Look | null): object | null;
};

/**
 * `event`: its name, for an agent that leaves it out of its JSON.
 * @throws AppError input.bad: not a hook call of this agent
 */
export type ReadHook = (body: unknown, event?: string) => HookCall;
