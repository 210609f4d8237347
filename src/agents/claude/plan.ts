/**
 * Reads Claude Code's plan from its plan tools. Newer versions change tasks one by one (`TaskCreate`, `TaskUpdate`,
 * `TaskList`), older ones write the whole list (`TodoWrite`).
 */
import { z } from 'zod';
import { oneStep, type PlanChange, readPlan, wholePlan } from '../shared/plan-entry.ts';
import { toId } from '../shared/text.ts';
import type { ClaudeCall } from './call.ts';

const id = z.union([z.string().min(1), z.number().transform(String)]);
const created = z.object({ task: z.object({ id, subject: z.string().optional() }) });
const updated = z.object({
  taskId: id,
  subject: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
});
const list = z.object({ tasks: z.array(z.object({ id, subject: z.string(), status: z.string() })) });

/** Returns what a successful tool call did to the plan; null if it did nothing, or in a form that we do not know. */
export function planChange(call: ClaudeCall): PlanChange | null {
  switch (call.tool_name) {
    case 'TaskCreate':
      return createdStep(call);
    case 'TaskUpdate':
      return updatedStep(call);
    case 'TaskList': {
      // The whole list belongs to the session: its steps are not the sub-agent's.
      if (call.parent !== null) return null;
      const result = list.safeParse(call.tool_response);
      if (!result.success) return null;
      const alive = result.data.tasks.filter(({ status }) => status !== 'deleted');
      return wholePlan(alive.map((task) => ({ title: task.subject, status: task.status, step: toId(task.id) })));
    }
    case 'TodoWrite':
      return readPlan(call.tool_input?.todos, 'content');
    default:
      return null;
  }
}

function createdStep(call: ClaudeCall): PlanChange | null {
  const result = created.safeParse(call.tool_response);
  if (!result.success) return null;
  const { task } = result.data;
  const subject = call.tool_input?.subject;
  return oneStep(task.id, {
    title: typeof subject === 'string' ? subject : (task.subject ?? task.id),
    status: 'pending',
  });
}

/**
 * The result of a refused update has `success: false`, or does not list the status as changed. An update of the owner or
 * the description changes no step.
 */
function updatedStep(call: ClaudeCall): PlanChange | null {
  const input = updated.safeParse(call.tool_input);
  if (!input.success || call.tool_response?.success === false) return null;
  const { taskId, subject, ...wanted } = input.data;
  const changed = call.tool_response?.updatedFields;
  // A deletion is listed as `deleted`.
  const stays = Array.isArray(changed) && !changed.includes('status') && !changed.includes(wanted.status);
  const status = stays ? undefined : wanted.status;
  if (subject === undefined && status === undefined) return null;
  return oneStep(taskId, { title: subject, status });
}
