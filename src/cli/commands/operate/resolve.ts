/** resolve: a person settles an escalation. */
import type { TaskView } from '../../../../machines/index.ts';
import { agents, resumeCommand } from '../../../agents/index.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { argument, defineCommand, flag, option } from '../../command.ts';
import { readTimeout } from '../../option-values.ts';
import { operatorArgs, publishOperatorEntry, taskArg, type View } from './operator-entry.ts';

export const resolve = defineCommand({
  args: {
    id: argument('WORKER', 'the id of the worker, or with --task of the task'),
    resume: flag('it may continue: the worker becomes idle, a task goes back to its queue'),
    stop: flag('it is over: the worker becomes stopped, a task is cancelled'),
    prompt: option('TEXT', "with --resume: a prompt for the worker's agent"),
    ...taskArg,
    ...operatorArgs,
  },
  details: [
    'Tasks that were escalated with a worker stay escalated. They are listed.',
    'Exit code 1: it is not escalated, or not known.',
  ],
  examples: [
    'stopgate resolve w1 --resume --prompt "Use the staging key"',
    'stopgate resolve w1 --stop --yes',
    'stopgate resolve T-1 --task --resume',
  ],
  run: async (context) => {
    const { id, resume, stop, prompt, task, timeout } = context.flags;
    if (resume === stop) throw new AppError('input.bad', 'pass either --resume or --stop');
    if (prompt !== undefined && (stop || task))
      throw new AppError(
        'input.bad',
        `--prompt is for an agent that continues: ${task ? 'a task' : '--stop'} takes none`,
      );
    const verdict = resume ? 'resume' : 'stop';
    return publishOperatorEntry(
      {
        entity: task ? 'task' : 'worker',
        id,
        type: 'escalation.resolved',
        data: { verdict, ...(prompt === undefined ? {} : { prompt }) },
        needs: 'escalation',
        question: resume ? 'Let it go on?' : 'Stop it?',
        describe: async (view, requester) => [
          `${id}: resolved; it is ${view.state} now`,
          ...(prompt === undefined ? [] : tellHowItIsPrompted(view, prompt)),
          ...(task ? [] : await listEscalatedTasks(id, requester, readTimeout(timeout))),
        ],
      },
      context,
    );
  },
});

/** A running OpenCode prompts the session through its plugin. A person has to resume the sessions of other agents. */
function tellHowItIsPrompted(view: View, prompt: string): string[] {
  const later = 'its agent gets this with the next prompt';
  const command = 'presence' in view ? resumeCommand(view, prompt) : null;
  if (command === null) return [later];
  const agent = 'agent' in view ? agents.get(view.agent ?? '') : undefined;
  const isPrompted = agent?.promptsResolution === true;
  return [isPrompted ? `its plugin prompts it, as long as ${agent.title} runs` : later, `to resume it: ${command}`];
}

const tasksMax = 1_000;

/** Tasks that were escalated with the worker belong to nobody now, and are easily forgotten. */
async function listEscalatedTasks(worker: string, requester: Requester, timeoutMs: number): Promise<string[]> {
  const filter = { state: 'escalated', limit: tasksMax };
  const { items } = (await requester.request('list', 'tasks', filter, timeoutMs)) as { items: TaskView[] };
  return items
    .filter(({ escalation }) => escalation?.withWorker === true && escalation.worker === worker)
    .map(({ task }) => `task ${task} is still escalated: stopgate resolve ${task} --task --resume`);
}
