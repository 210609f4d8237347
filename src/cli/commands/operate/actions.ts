/** ack, resolve, answer, retire, pause and unpause: an operator's actions on a worker, task or queue. */
import type { InputRequest, TaskView, WorkerView } from '../../../../machines/index.ts';
import { grantForm } from '../../../../machines/policy/budget.ts';
import { sentence } from '../../../../machines/replay/standing.ts';
import { describeAmounts } from '../../../../machines/values/amounts.ts';
import { pauseMsMax } from '../../../../machines/values/limits.ts';
import { formatDuration, parseDuration } from '../../../../machines/values/time.ts';
import type { BudgetKind, GrantedAmounts } from '../../../../machines/values/usage.ts';
import { agents, resumeCommand } from '../../../agents/index.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { createAnswer, openRequest, throwIfNotGrantable, throwIfRetired } from '../../../service/refusal.ts';
import { cut } from '../../../terminal/text.ts';
import { argument, defineCommand, flag, option, words } from '../../command.ts';
import { timeoutMsDefault, toTimeout } from '../../option-values.ts';
import { describeInput, describePaused } from '../../text/actor-text.ts';
import { operatorArgs, publishOperatorEntry, taskFlag, type View } from './operator-entry.ts';

/** Acknowledges an escalation, an overdue request or an unattended queue. */
export const ack = defineCommand({
  args: {
    id: argument('WORKER', 'the id of the worker, or of the task or queue'),
    task: taskFlag,
    queue: flag('the id is that of an unattended queue'),
    ...operatorArgs,
  },
  details: [
    'Ends the reminders. The escalation stays until it is resolved, a request until it is answered, and a queue until it has a worker.',
    'Exit code 1: there is nothing to acknowledge, or the id is unknown.',
  ],
  examples: ['stopgate ack w1', 'stopgate ack T-1 --task --by ann --yes', 'stopgate ack build --queue'],
  run: async (context) => {
    const { id, task, queue } = context.flags;
    if (task && queue) throw new AppError('input.bad', '--task and --queue cannot be used together; use one of them');
    return publishOperatorEntry(
      {
        entity: task ? 'task' : queue ? 'queue' : 'worker',
        id,
        type: 'escalation.acknowledged',
        data: {},
        needs: 'notice',
        question: 'Acknowledge?',
        describe: async (view, actor) => describeAcknowledged(actor, task, view),
      },
      context,
    );
  },
});

function describeAcknowledged(id: string, isTask: boolean, view: View): string[] {
  const { noticed, next } = noticeIn(id, isTask, view);
  return [`${id}: acknowledged by ${noticed?.acknowledgedBy ?? 'nobody'}`, next];
}

/** @returns the notice that was acknowledged, and the command that ends it */
function noticeIn(id: string, isTask: boolean, view: View) {
  if ('unattended' in view)
    return {
      noticed: view.unattended as Noticed,
      next: `it ends when the queue has a worker; see "stopgate queues --queue ${id}"`,
    };
  if (view.escalation !== null) {
    const next = `it stays escalated; end that with "stopgate resolve ${id}${isTask ? ' --task' : ''} --resume" (or --stop)`;
    return { noticed: view.escalation, next };
  }
  const asked = 'inputs' in view ? view.inputs.find(({ overdue }) => overdue !== undefined) : undefined;
  return {
    noticed: asked?.overdue ?? null,
    next: `its request is still open; answer with "stopgate answer ${id}" or at its own terminal`,
  };
}

type Noticed = { readonly acknowledgedBy: string | null } | null;

const grantForms = '5usd, 200000tokens, 10turns or 30m';

export const resolve = defineCommand({
  args: {
    target: words('WORKER', 'the id of the worker, or "task" and the id of a task; then "resume" or "stop"', true),
    resume: flag('continue: the worker becomes idle, a task goes back to its queue'),
    stop: flag('end: the worker becomes stopped, a task is cancelled'),
    prompt: option('TEXT', "with --resume: a prompt for the worker's agent"),
    grant: option(
      'AMOUNT',
      `with --resume, if a budget was used up: how much to grant, ${grantForms} (default: as configured)`,
      toGrant,
    ),
    task: taskFlag,
    ...operatorArgs,
  },
  details: [
    'Tasks that were escalated with a worker stay escalated. They are listed.',
    'A used-up budget is granted once more, counted from now. Name several limits with commas: --grant 5usd,30m.',
    'Exit code 1: not escalated, not escalated for such a budget (--grant), or unknown id.',
  ],
  examples: [
    'stopgate resolve w1 --resume --prompt "Use the staging key"',
    'stopgate resolve w1 resume --grant 5usd',
    'stopgate resolve w1 --stop --yes',
    'stopgate resolve task T-1 resume',
  ],
  run: async (context) => {
    const { prompt, grant, timeout } = context.flags;
    const { id, resume, stop, task } = readTarget(context.flags);
    if (resume === stop) throw new AppError('input.bad', 'pass one of --resume and --stop');
    if (prompt !== undefined && (stop || task))
      throw new AppError(
        'input.bad',
        `--prompt needs an agent that continues; ${task ? 'a task has no agent' : 'omit it with --stop'}`,
      );
    if (grant !== undefined && stop) throw new AppError('input.bad', '--grant needs --resume; omit it with --stop');
    const verdict = resume ? 'resume' : 'stop';
    return publishOperatorEntry(
      {
        entity: task ? 'task' : 'worker',
        id,
        type: 'escalation.resolved',
        data(view) {
          if (grant !== undefined) throwIfNotGrantable(view, grant);
          return { verdict, ...(prompt === undefined ? {} : { prompt }), ...(grant === undefined ? {} : { grant }) };
        },
        needs: 'escalation',
        question: grant === undefined ? (resume ? 'Resume?' : 'Stop?') : `Resume, and grant ${describeAmounts(grant)}?`,
        describe: async (view, actor, requester) => [
          `${actor}: resolved${grant === undefined ? '' : `, granted ${describeAmounts(grant)}`}; now ${view.state}`,
          ...(prompt === undefined ? [] : describePrompting(view, prompt)),
          ...(task ? [] : await listEscalatedTasks(actor, requester, timeout ?? timeoutMsDefault)),
        ],
      },
      context,
    );
  },
});

/** Parses one amount or several, such as `5usd` or `5usd,30m`. @throws AppError input.bad */
function toGrant(text: string): GrantedAmounts {
  const amounts = text.split(',').map((amount) => readAmount(amount.trim()));
  const kinds = amounts.map(([kind]) => kind);
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  if (twice !== undefined) throw new AppError('input.bad', `'${text}' names ${twice} twice`);
  const grant: GrantedAmounts = Object.fromEntries(amounts);
  const [issue] = grantForm.safeParse(grant).error?.issues ?? [];
  if (issue !== undefined) throw new AppError('input.bad', `'${text}' is too much: ${issue.message}`);
  return grant;
}

function readAmount(text: string): readonly [BudgetKind, number] {
  const [, number, unit] = /^(\d{1,15}(?:\.\d{1,9})?) ?(usd|tokens|turns)$/.exec(text) ?? [];
  const amount = number === undefined ? parseDuration(text) : Number(number);
  const isWhole = unit === 'usd' || Number.isInteger(amount);
  if (amount === null || !isWhole) throw new AppError('input.bad', `'${text}' is not an amount; write ${grantForms}`);
  if (amount > 0) return [(unit as BudgetKind | undefined) ?? 'time', amount];
  throw new AppError('input.bad', `'${text}' grants nothing; write more, or end it with --stop`);
}

type ResolveWords = { readonly target: readonly string[] } & Readonly<Record<'resume' | 'stop' | 'task', boolean>>;

/** Reads `[worker|task] ID [resume|stop]`; flags may be used instead of the words. @throws AppError input.bad */
function readTarget({ target, ...flags }: ResolveWords) {
  const typed = [...target];
  const entity = typed.length > 1 && ['worker', 'task'].includes(typed[0] ?? '') ? typed.shift() : undefined;
  const [id = '', verdict, ...more] = typed;
  const isVerdict = verdict === undefined || verdict === 'resume' || verdict === 'stop';
  if (more.length > 0 || !isVerdict)
    throw new AppError(
      'input.bad',
      `'${typed.slice(1).join(' ')}' is not understood; write "resume" or "stop" after the id`,
    );
  return {
    id,
    resume: flags.resume || verdict === 'resume',
    stop: flags.stop || verdict === 'stop',
    task: flags.task || entity === 'task',
  };
}

/** OpenCode prompts a running session through its plugin. Sessions of other agents must be resumed by a person. */
function describePrompting(view: View, prompt: string): string[] {
  const later = 'its agent gets this with the next prompt';
  const command = 'presence' in view ? resumeCommand(view, prompt) : null;
  if (command === null) return [later];
  const agent = 'agent' in view ? agents.get(view.agent ?? '') : undefined;
  const isPrompted = agent?.promptsResolution === true;
  return [isPrompted ? `its plugin prompts it while ${agent.title} runs` : later, `to resume it: ${command}`];
}

const tasksMax = 1_000;

/** Tasks that were escalated with the worker have no holder now, and are easily forgotten. */
async function listEscalatedTasks(worker: string, requester: Requester, timeoutMs: number): Promise<string[]> {
  const filter = { state: 'escalated', limit: tasksMax };
  const { items } = (await requester.request('list', 'tasks', filter, timeoutMs)) as { items: TaskView[] };
  return items
    .filter(({ escalation }) => escalation?.withWorker === true && escalation.worker === worker)
    .map(({ task }) => `task ${task} is still escalated: stopgate resolve ${task} --task --resume`);
}

/** Maximum length of the tool's request in the confirmation question. */
const detailMax = 300;

export const answer = defineCommand({
  args: {
    worker: argument('WORKER', 'the id of the worker'),
    allow: flag('allow the request'),
    deny: flag('deny the request'),
    request: option('R', 'the id of the request, if several are open'),
    message: option('TEXT', 'for the agent: the reason for --deny, or the answer to a question'),
    ...operatorArgs,
  },
  details: [
    'Answers a permission request that a hook holds open. This needs "ask" in the policy of the worker, such as "ask: 5m".',
    'Answer a question with --allow and the choice, or your own words, as --message; answer several questions with a JSON object. A request can be answered only once. Without a terminal, pass --yes.',
    'Exit code 1: no such request is open, or the worker is unknown.',
  ],
  examples: [
    'stopgate answer w1 --allow',
    'stopgate answer w1 --deny --message "Not on main" --yes',
    'stopgate answer w1 --allow --message New',
  ],
  run: async (context) => {
    const { worker, allow, deny, request, message } = context.flags;
    if (allow === deny) throw new AppError('input.bad', 'pass one of --allow and --deny');
    const verdict = allow ? 'allow' : 'deny';
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'input.answered',
        data: (view) => createAnswer(view as WorkerView, { request, verdict, message }),
        needs: null,
        question: (view) =>
          `${sentence(`It asks: ${describeRequest(view as WorkerView, request)}`)} ${allow ? 'Allow' : 'Deny'}?`,
        describe: async (view, actor) => {
          const { lastAnswer } = view as WorkerView;
          return [`${actor}: ${lastAnswer?.verdict ?? 'no answer'} by ${lastAnswer?.by ?? 'nobody'}`];
        },
      },
      context,
    );
  },
});

function describeRequest(view: WorkerView, request: string | undefined): string {
  const id = openRequest(view, request);
  return cut(describeInput(view.inputs.find((input) => input.request === id) as InputRequest), detailMax);
}

export const retire = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker'), ...operatorArgs },
  details: [
    'Its stops are allowed, its claims are refused, and its tasks go back to their queue. It returns only when it registers again.',
    'Exit code 1: unknown, or already retired.',
  ],
  examples: ['stopgate retire w1', 'stopgate retire w1 --yes --json'],
  run: async (context) => {
    const { worker } = context.flags;
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'worker.retired',
        data: (view) => {
          throwIfRetired(worker, view as WorkerView);
          return {};
        },
        needs: null,
        question: 'Retire?',
        describe: async ({ state }, actor) => [`${actor}: retired; now ${state}`],
      },
      context,
    );
  },
});

export const pause = defineCommand({
  args: {
    worker: argument('WORKER', 'the id of the worker'),
    for: option('TIME', 'how long, e.g. 30m, at most 7d (default: until its session ends)', toPauseTime),
    ...operatorArgs,
  },
  details: [
    'Meanwhile its stops are allowed and not judged, and its tasks go back to their queue. A new pause replaces an older one.',
    'Exit code 1: unknown, or its policy has "pause: deny".',
  ],
  examples: ['stopgate pause w1', 'stopgate pause w1 --for 30m --by ann --yes'],
  run: async (context) => {
    const { worker, for: forMs } = context.flags;
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'worker.paused',
        data: forMs === undefined ? {} : { forMs },
        needs: null,
        question: `Let it stop without checks ${forMs === undefined ? 'until its session ends' : `for ${formatDuration(forMs)}`}?`,
        describe: async (view, actor) => [describePause(actor, view)],
      },
      context,
    );
  },
});

function toPauseTime(text: string): number {
  const ms = toTimeout(text);
  if (ms <= pauseMsMax) return ms;
  throw new AppError('input.bad', `'${text}' is too long for a pause; write at most 7d, for example 30m`);
}

export const unpause = defineCommand({
  args: { worker: argument('WORKER', 'the id of the worker'), ...operatorArgs },
  details: ['Its stops are judged again. Without a pause, nothing changes.', 'Exit code 1: unknown.'],
  examples: ['stopgate unpause w1', 'stopgate unpause w1 --yes --json'],
  run: async (context) => {
    const { worker } = context.flags;
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'worker.unpaused',
        data: {},
        needs: null,
        question: 'Judge its stops again?',
        describe: async (view, actor) => [describePause(actor, view)],
      },
      context,
    );
  },
});

function describePause(worker: string, view: View): string {
  const { paused } = view as Partial<WorkerView>;
  return `${worker}: ${paused == null ? 'not paused; its stops are judged' : `paused ${describePaused(paused)}`}`;
}
