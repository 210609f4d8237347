/**
 * Claude Code's plan, as its plan tools tell it. Newer versions keep tasks one by one (`TaskCreate`, `TaskUpdate`,
 * `TaskList`), older ones the whole list at once (`TodoWrite`).
 */
import { z } from 'zod';
import { isDone, planStepsMax, type Step } from '../../machines/plan.ts';
import type { ClaudeCall } from './claude-call.ts';
import { toId } from './safe-id.ts';
import { firstChars } from './text.ts';

/** An entry has 64 KiB at most; the rest is left to its envelope. */
const planBytesMax = 60 * 1024;
/** Nobody is shown more than 30 characters of a title; longer ones are kept while the entry holds them. */
const titleLengths = [200, 60, 30, 10, 5] as const;
const titleMax = 200;
const statusMax = 40;

const id = z.union([z.string().min(1), z.number().transform(String)]);
const created = z.object({ task: z.object({ id, subject: z.string().optional() }) });
const updated = z.object({
  taskId: id,
  subject: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
});
const list = z.object({ tasks: z.array(z.object({ id, subject: z.string(), status: z.string() })) });
const todos = z.object({ todos: z.array(z.object({ content: z.string(), status: z.string() })) });

export type PlanChange =
  | { readonly type: 'plan.updated'; readonly data: { readonly steps: readonly Step[] } }
  | { readonly type: 'step.updated'; readonly data: { step: string; title?: string; status?: string } };

/** What a successful tool call did to the plan; null: nothing, or in words that we do not know. */
export function planChange(call: ClaudeCall): PlanChange | null {
  switch (call.tool_name) {
    case 'TaskCreate':
      return createdStep(call);
    case 'TaskUpdate':
      return updatedStep(call);
    case 'TaskList': {
      const answer = list.safeParse(call.tool_response);
      if (!answer.success) return null;
      const alive = answer.data.tasks.filter(({ status }) => status !== 'deleted');
      return wholePlan(alive.map((task) => ({ title: task.subject, status: task.status, step: toId(task.id) })));
    }
    case 'TodoWrite': {
      const asked = todos.safeParse(call.tool_input);
      if (!asked.success) return null;
      return wholePlan(asked.data.todos.map(({ content, status }) => ({ title: content, status })));
    }
    default:
      return null;
  }
}

function createdStep(call: ClaudeCall): PlanChange | null {
  const answer = created.safeParse(call.tool_response);
  if (!answer.success) return null;
  const { task } = answer.data;
  const subject = call.tool_input?.subject;
  const title = typeof subject === 'string' ? subject : (task.subject ?? task.id);
  return { type: 'step.updated', data: { step: toId(task.id), title: firstChars(title, titleMax), status: 'pending' } };
}

/** The answer of a refused update says `success: false`; one of an owner or a description changes no step. */
function updatedStep(call: ClaudeCall): PlanChange | null {
  const asked = updated.safeParse(call.tool_input);
  if (!asked.success || call.tool_response?.success === false) return null;
  const { taskId, subject, status } = asked.data;
  if (subject === undefined && status === undefined) return null;
  const change = {
    ...(subject === undefined ? {} : { title: firstChars(subject, titleMax) }),
    ...(status === undefined ? {} : { status: firstChars(status, statusMax) }),
  };
  return { type: 'step.updated', data: { step: toId(taskId), ...change } };
}

/** Of too many steps the done ones go first: a step that was left out must never make a plan look done. */
function wholePlan(given: readonly Step[]): PlanChange {
  const steps = given.map((step) => ({ ...step, status: firstChars(step.status, statusMax) }));
  const room = planStepsMax - steps.filter((step) => !isDone(step)).length;
  let doneKept = 0;
  const kept = steps.length <= planStepsMax ? steps : steps.filter((step) => !isDone(step) || ++doneKept <= room);
  const forms = titleLengths.map((max) => () => withTitles(kept.slice(0, planStepsMax), max));
  const fits = (form: () => readonly Step[]) => Buffer.byteLength(JSON.stringify(form())) <= planBytesMax;
  const form = forms.find(fits) ?? (forms.at(-1) as () => readonly Step[]);
  return { type: 'plan.updated', data: { steps: form() } };
}

const withTitles = (steps: readonly Step[], max: number): readonly Step[] =>
  steps.map((step) => ({ ...step, title: firstChars(step.title, max) }));
