/** The steps that record a history, and short names for common entries. */
import type { Stage } from './stage.ts';

export type Scenario = {
  /** Describes the history in one line. */
  readonly shows: string;
  /** Returns the stopgate.yaml of the service. @param webhook the URL of a webhook that accepts everything */
  readonly config?: object | ((webhook: string) => object);
  play(stage: Stage): Promise<void>;
};
/** Scenarios by name of the history. */
export type Scenarios = Readonly<Record<string, Scenario>>;

export const register = (stage: Stage, worker: string, fields: object = {}) =>
  stage.entry(`worker.${worker}.worker.registered`, { agent: 'claude', ...fields });
export const prompt = (stage: Stage, worker: string, text: string) =>
  stage.entry(`worker.${worker}.prompt.submitted`, { text });
export const edit = (stage: Stage, worker: string, ...files: readonly string[]) =>
  stage.entry(`worker.${worker}.tool.used`, { tool: 'Edit', ok: true, files });
export const claim = (stage: Stage, worker: string, task: string) =>
  stage.entry(`worker.${worker}.task.claimed`, { task });
/** Sets the worker's whole plan, with done and open steps. */
export const plan = (stage: Stage, worker: string, done: readonly string[], open: readonly string[] = []) =>
  stage.entry(`worker.${worker}.plan.updated`, { steps: steps(done, open) });
export const steps = (done: readonly string[], open: readonly string[]) => [
  ...done.map((title) => ({ title, status: 'completed' })),
  ...open.map((title) => ({ title, status: 'pending' })),
];
export const passed = (...rules: readonly string[]) => rules.map((rule) => ({ rule, passed: true }));
export const failed = (rule: string, message: string) => ({ rule, passed: false, message });
