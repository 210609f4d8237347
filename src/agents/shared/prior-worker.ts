/** What the fleet knows about a worker before its hook call: the input of a translation. */
import type { Plan, WorkerView } from '../../../machines/index.ts';
import type { DecisionText } from './block-text.ts';

export type PriorWorker = {
  /** True between a prompt and a stop. */
  readonly working?: boolean;
  /** True after an allowed stop. */
  readonly stopped: boolean;
  /** False until an adapter has registered it, which its next call must do. */
  readonly registered: boolean;
  /** The worker that started this sub-agent. Null for a session. */
  readonly parent: string | null;
  /** The folder that the fleet has recorded. */
  readonly cwd: string | null;
  /** Its first folder, if remembered. */
  readonly home?: string | null;
  readonly plan: Plan;
  readonly lastDecision: DecisionText | null;
  /** Ids of running background work. */
  readonly background: readonly string[];
  /** The prompts that the agent has scheduled for itself. */
  readonly scheduled?: readonly string[];
  /** False if the session runs without a person. */
  readonly interactive?: boolean | null;
  /** The label `mode`. */
  readonly mode?: string | null;
  readonly awaitsInput: boolean;
  /** Ids of the requests that a hook holds for an operator's answer. */
  readonly held: readonly string[];
  /** True while a usage limit is in force. */
  readonly limited: boolean;
  /** True while an escalation waits for a person. */
  readonly escalated: boolean;
  /** The prompt with which a person resolved the escalation. Null again after the next prompt or registration. */
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

/** A worker that exists only through other entries, such as a claim, has no agent and still has to be registered. */
export function toPriorWorker(view: WorkerView): PriorWorker {
  const { agent, parent, cwd, plan, lastDecision, background, awaitsInput, interactive, labels } = view;
  return {
    working: view.state === 'working',
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
