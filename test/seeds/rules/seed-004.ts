/** Seed 004, Worker Persistence Concepts: workers stay alive while there may be work. */
import { part, type Rule } from './rule.ts';

const day = 'seeds/worker-day › the day of a worker › from 12:00 to 12:49, minute by minute';
const live =
  'seeds/worker-live › from 12:00 to 12:49 over the wire: the idle time is that between tasks, and ends the worker once';
const idle = 'seeds/worker-day › idle time';
const total = `${idle} › is no total time: work that lasts hours, task after task, uses none of the ten minutes`;
const newest = `${idle} › counts from the newest of registration, last claim and last completion`;
const beats = `${idle} › a heartbeat alone does not reset it, a claim and a completion are a heartbeat too`;
const answer = 'seeds/worker-day › the answer';
const block = `${answer} › a block says why, what waits and how long it may still wait`;
const approval = `${answer} › an approval says how long it was idle, and that no task waits`;
const pending = `${answer} › waiting tasks are asked for first: past the timeout too the worker goes on`;
const cycles = `${answer} › each cycle is judged for itself: an earlier answer does not change a later one`;
const between = `${answer} › nothing is decided between two attempts, however long it is`;
const limit = 'seeds/worker-day › a usage limit';
const profile = 'seeds/worker-day › profiles › %s: %i minutes';
const persistent = 'seeds/worker-day › profiles › persistent: never by itself, only when somebody retires it';
const presence = 'seeds/worker-day › a heartbeat is recent for two minutes, and old after them';
const degrades = 'seeds/worker-day › it degrades gracefully: no task, tasks, a limit, and tasks again';
const held =
  'seeds/worker-live › a held worker costs no turn: one request stays open over many minutes, until a task arrives';
const once = 'conformance/idle › the day of a worker, minute by minute';

export const seed004: readonly Rule[] = [
  ...part('004', 'The Problem', [['a worker that finds no task must stay alive and look again', [day, live]]]),
  ...part('004', 'The Solution: Stop Hooks', [
    ['a stop can be blocked', block],
    ['with feedback that says why it must go on', block],
    ['and is allowed under certain conditions only', approval],
  ]),
  ...part('004', 'Hook Execution Flow', [
    [
      'the hook is asked before the stop, and says stop or go on',
      [
        live,
        'integration/agents/claude-session › a whole session: blocked while a step remains, allowed when all are done',
      ],
    ],
    ['approve: it stops', approval, '`allow`'],
    ['block with a reason: it goes on with new instructions', block],
  ]),
  ...part('004', 'Hook Configuration Pattern', [
    [
      'the settings name the script, its timeout and its kind',
      [
        'unit/config/file › a right file › gives the example of the protocol in its normal form',
        'integration/app/checks › a command › that takes too long is ended',
        'integration/cli/init › claude › gets an HTTP hook for each event, and a stop may take as long as Claude Code lets it',
      ],
    ],
  ]),
  ...part('004', 'Hook Decision Logic', [['conditions are judged, and the answer has a reason', [block, approval]]]),
  ...part('004', 'Idle Time vs Total Time', [
    ['total time since the registration is the wrong model: a task at minute 9 would have one minute', total],
    [
      'only the time between tasks counts, and work sets it back',
      [total, 'conformance/idle › no time passes while a task is held', live],
    ],
  ]),
  ...part('004', 'Last Activity Tracking', [
    [
      'registration, last claim and last completion are kept; the newest counts',
      [newest, 'conformance/idle › the newest of the three times counts'],
    ],
    ['not the registration alone', newest],
  ]),
  ...part('004', 'Timeline Example', [
    ['12:00 registers: idle 0', [day, live, once]],
    ['12:01-12:08 polls, finds none: idle 1 to 8', [day, live, once]],
    ['12:09 a task arrives and is claimed: idle 0, the 9 minutes are forgotten', [day, live, once]],
    ['12:10-12:38 works: idle 0', [day, live, once]],
    ['12:39 completes: idle 0 again', [day, live, once]],
    ['12:40-12:48 polls, finds none: idle 1 to 9, from the completion', [day, live, once]],
    [
      '12:49 idle 10: the stop is allowed',
      [
        day,
        live,
        once,
        'integration/app/wire › an idle worker that is to be kept › may stop at exactly its idle timeout, for which a held stop waits',
      ],
    ],
    ['each completion gives a fresh window of ten minutes', total],
  ]),
  ...part('004', 'Continuous Polling Loop', [
    ['1: a heartbeat; 2: look for work', [day, live]],
    ['3: claim, work, complete; the idle timer is set back', [day, live]],
    ['4: no task: wait briefly, and again', [day, held], 'or hold: one stop stays open until there is a task'],
    ['the loop never ends by itself, the stop hook ends it', live],
  ]),
  ...part('004', 'Stop Hook Integration', [
    ['tasks wait, or idle under the threshold: block', [block, 'conformance/pending › a waiting task blocks']],
    ['no task and idle over it: approve', [approval, 'conformance/pending › no task and too long idle: allowed']],
  ]),
  ...part('004', 'Checking for Pending Tasks', [
    [
      'first: waiting tasks make it go on, however long it was idle',
      [pending, 'conformance/pending › a waiting task comes before the timeout'],
    ],
    ['none: the idle time is looked at', day],
    [
      'tasks of other queues do not count',
      [
        "conformance/pending › another queue's tasks do not count",
        'seeds/worker-live › two workers on one queue: both are kept for its task, one gets it, the other waits on',
      ],
    ],
  ]),
  ...part('004', 'Calculating Idle Time', [['the time since the newest of the three', [newest, live]]]),
  ...part('004', 'Comparing Against Threshold', [
    ['under it: block, with the time that remains', block],
    [
      'over it: approve, with the timeout as the reason',
      [approval, 'conformance/idle › over the timeout'],
      'at exactly the threshold too: its own timeline says so',
    ],
  ]),
  ...part('004', 'Idle Timer Reset Points', [
    ['a claim sets the idle time to 0 and is a heartbeat', [beats, day]],
    ['a completion sets the idle time to 0 and is a heartbeat', [beats, day]],
    [
      'nothing else does',
      [
        beats,
        'conformance/idle › other work is no activity',
        'conformance/idle › a task that was failed or released was let go of: the clock starts then',
      ],
      'a task that was failed or released was let go of too',
    ],
  ]),
  ...part('004', 'Configurable Timeout Strategies', [
    ['critical: 30 minutes', [profile, 'conformance/idle › critical: thirty minutes']],
    ['temporary: 5 minutes', [profile, 'conformance/idle › temporary: five minutes']],
    [
      'persistent: none, until somebody ends it',
      [
        persistent,
        'conformance/idle › persistent: never by itself',
        'conformance/states › a retired worker comes back only by a registration',
        'integration/cli/operator › $argv stores one entry, and --json prints the view after it',
      ],
    ],
    ['workers of different kinds side by side', "conformance/idle › a profile replaces the policy's named timeout"],
    [
      'persistent is not for where rate limits are',
      'conformance/pending › a cap for keeping a worker alive',
      '`keepAlives` caps it',
    ],
  ]),
  ...part('004', 'Stop Hook Output Patterns', [
    ['block: decision, reason, time that remains, tasks that wait', block],
    ['approve: decision, reason, how long idle, no task', approval],
  ]),
  ...part('004', 'Rate Limit Considerations', [
    [
      'the session pauses, and does not end',
      [`${limit} › pauses the session: it may stop, and is not over`, 'conformance/limits › a limited session pauses'],
    ],
    [
      'its heartbeats stop, it looks inactive',
      [
        `${limit} › pauses the session: it may stop, and is not over`,
        `${limit} › over, the worker goes on where it stood`,
      ],
      '`limited` while the limit holds, `stale` after it',
    ],
    [
      'after the limit it goes on',
      [
        `${limit} › over, the worker goes on where it stood`,
        'conformance/limits › a limit without an end lasts until it is cleared',
      ],
    ],
    [
      'or a new worker takes its place',
      [
        `${limit} › or a new worker takes its place`,
        'unit/machines/hand-back › with releaseAfter: 5m › another worker may then claim it, and the first one is told when it comes back',
      ],
    ],
    ['a heartbeat within 2 minutes: active', [presence, 'conformance/limits › presence: active, then stale']],
    [
      'coordinators see which workers are inactive',
      [
        'integration/cli/list › workers › filters go to the service, all pages come',
        'integration/app/wire › list pages in the order of ids, and filters',
      ],
    ],
    [
      'an older one: inactive or limited',
      [
        presence,
        'unit/machines/hand-back › with releaseAfter: 5m › a task goes back to its queue when its worker has been stale for five minutes',
      ],
    ],
  ]),
  ...part('004', 'Key Insights: 1. Discrete Cycle Model', [
    ['work, check, decision, go on or stop: at checkpoints, not all the time', between],
    [
      'each cycle is for itself, without a state of its own',
      cycles,
      'but for the counts of retries and keep-alives, which are shown in each decision',
    ],
  ]),
  ...part('004', 'Key Insights: 2. Idle Time Is Not Total Time', [
    ['a worker may run for hours as long as tasks come', [total, live]],
    ['idle periods alone count', total],
  ]),
  ...part('004', 'Key Insights: 3. Polling Worker Pattern', [
    ['workers look for work, stay while needed, and end when idle', live],
    ['by the workload itself', degrades],
  ]),
  ...part('004', 'Key Insights: 4. Two-Tier Persistence', [
    ['the loop looks for work; the hook prevents an early end', live],
    ['both together', [live, held]],
  ]),
  ...part('004', 'Key Insights: 5. Graceful Degradation', [
    ['no tasks and a timeout: it stops', degrades],
    ['tasks: it goes on', degrades],
    ['rate limited: it pauses', degrades],
    ['new tasks: new workers may start', degrades],
  ]),
  ...part('004', 'Summary', [
    ['attempts are caught, judged, blocked or allowed, and only the time between tasks counts', [day, live, once]],
    [
      'ten minutes of waiting, not of running; a worker with tasks runs for ever',
      [total, 'conformance/idle › default: ten minutes'],
    ],
    [
      'persistence is a choice',
      'conformance/idle › persistence is off by default',
      'off by default: most agents have one task',
    ],
  ]),
];
