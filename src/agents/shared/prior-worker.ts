/** Everything that the fleet knows of the worker of a hook call before that call. */
import type { Plan, WorkerView } from '../../../machines/index.ts';
import type { DecisionText } from './block-text.ts';

export type PriorWorker = {
  /** It was allowed to stop, or its session has ended. */
  readonly stopped: boolean;
  /** False: no adapter has registered it yet, so its first call must do that. */
  readonly registered: boolean;
  /** Set for a sub-agent: the worker that started it. */
  readonly parent: string | null;
  /** The folder in which it works, as the fleet knows it. */
  readonly cwd: string | null;
  /** The folder in which it began, as far as it is remembered. */
  readonly home?: string | null;
  readonly plan: Plan;
  readonly lastDecision: DecisionText | null;
  /** Ids of the background work that is running. */
  readonly background: readonly string[];
  /** The prompts that the agent has scheduled for itself, as it last listed them. */
  readonly scheduled?: readonly string[];
  /** False: no person is at the session. */
  readonly interactive?: boolean | null;
  /** The label `mode`. */
  readonly mode?: string | null;
  readonly awaitsInput: boolean;
  /** The requests to a person that a hook holds for an operator's answer. */
  readonly held: readonly string[];
  /** A usage limit is in force. */
  readonly limited: boolean;
  /** It is escalated, and no person has resolved that yet. */
  readonly escalated: boolean;
  /** The prompt with which a person resolved its escalation, until it is prompted or registered again. */
  readonly resolution: string | null;
};

export const unknownWorker: PriorWorker = Object.freeze({
  stopped: false,
  registered: false,
  parent: null,
  cwd: null,
  plan: [],
  lastDecision: null,
  background: [],
  awaitsInput: false,
  held: [],
  limited: false,
  escalated: false,
  resolution: null,
});

/** A worker without an agent exists through other entries (a claim, for example); an adapter still has to register it. */
export function toPriorWorker(view: WorkerView): PriorWorker {
  const { agent, parent, cwd, plan, lastDecision, background, awaitsInput, interactive, labels } = view;
  return {
    stopped: view.state === 'stopped',
    registered: agent !== null,
    parent,
    cwd,
    plan,
    lastDecision,
    background: background.map(({ id }) => id),
    awaitsInput,
    interactive,
    mode: labels.mode ?? null,
    held: view.inputs.flatMap(({ request }) => request ?? []),
    limited: view.presence === 'limited',
    escalated: view.escalation !== null,
    resolution: view.resolution?.prompt ?? null,
  };
}
