/** The context that a check or task hook receives, under the seeds' field names (protocol.md §8 and §14). */
import { z } from 'zod';
import { describeIssues, type Plan, readJson, toIssues } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/** The result of one validation rule, as reported by the agent. */
export type RuleResult = { readonly ruleName: string; readonly passed: boolean; readonly message?: string };

export type CompletionPromise = {
  readonly type: 'COMPLETE' | 'BLOCKED' | 'ESCALATE';
  readonly detected: boolean;
  readonly content: string;
  /** Detection time as reported. Absent if the service found the promise in the output itself. */
  readonly detectedAt?: string;
};

export type AgentContext = {
  /** Null for a policy check of a worker that holds no task. Always set for hooks. */
  readonly taskId: string | null;
  /** 1-based; 0 before the first iteration. */
  readonly iteration: number;
  /** The phase of the latest checkpoint that names one. */
  readonly executionPhase: string | null;
  readonly filesModified: readonly string[];
  readonly validationResults: readonly RuleResult[];
  readonly completionPromises: readonly CompletionPromise[];
  readonly agentOutput?: string;
  readonly draftContent?: string;
  readonly draftType?: string;
  /** Null while an iteration of an unclaimed task is validated. */
  readonly worker: string | null;
  readonly attempt: string | null;
  /** Number of stops blocked so far. */
  readonly retryCount: number;
  readonly toolCount: number;
  /** Defaults to `end_turn`. */
  readonly stopReason: string;
  /** The worker's folder, as reported by the worker. */
  readonly cwd: string | null;
  readonly plan: Plan;
};

const text = z.string().nullish();
const count = z.number().nullish();
const requestSchema = z.object({
  task: text,
  worker: text,
  attempt: text,
  stopReason: text,
  phase: text,
  cwd: text,
  agentOutput: text,
  draftContent: text,
  draftType: text,
  iteration: count,
  retryCount: count,
  toolCount: count,
  filesModified: z.array(z.string()).default([]),
  validationResults: z
    .array(z.object({ rule: z.string(), passed: z.boolean(), message: z.string().optional() }))
    .default([]),
  completionPromises: z
    .array(
      z.object({
        type: z.enum(['COMPLETE', 'BLOCKED', 'ESCALATE']),
        detected: z.boolean(),
        content: z.string(),
        detectedAt: z.string().optional(),
      }),
    )
    .default([]),
  plan: z.array(z.object({ title: z.string(), status: z.string(), step: z.string().optional() })).nullish(),
});

/** @throws AppError input.bad if the payload is not a check request */
export function readAgentContext(payload: string): AgentContext {
  const json = readJson(payload);
  if (!json.ok) throw new AppError('input.bad', `this is not a check request: ${json.message}`);
  const parsed = requestSchema.safeParse(json.value);
  if (!parsed.success)
    throw new AppError(
      'input.bad',
      `this is not a check request: ${describeIssues(toIssues(parsed.error, json.value))}`,
    );
  const { task, phase, agentOutput, draftContent, draftType, validationResults, ...rest } = parsed.data;
  return {
    taskId: task ?? null,
    iteration: rest.iteration ?? 0,
    executionPhase: phase ?? null,
    filesModified: rest.filesModified,
    validationResults: validationResults.map(({ rule, passed, message }) => ({
      ruleName: rule,
      passed,
      ...(message === undefined ? {} : { message }),
    })),
    completionPromises: rest.completionPromises.map(({ detectedAt, ...promise }) => ({
      ...promise,
      ...(detectedAt === undefined ? {} : { detectedAt }),
    })),
    ...(typeof agentOutput === 'string' && { agentOutput }),
    ...(typeof draftContent === 'string' && { draftContent }),
    ...(typeof draftType === 'string' && { draftType }),
    worker: rest.worker ?? null,
    attempt: rest.attempt ?? null,
    cwd: rest.cwd ?? null,
    retryCount: rest.retryCount ?? 0,
    toolCount: rest.toolCount ?? 0,
    stopReason: rest.stopReason ?? 'end_turn',
    plan: rest.plan ?? [],
  };
}
