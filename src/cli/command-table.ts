/** All commands, by help group and in help order. */
import type { CommandTable } from './command.ts';

export const commandGroups: Readonly<Record<string, CommandTable>> = {
  Start: {
    demo: {
      summary: 'watch it at work for half a minute, in a temporary folder',
      load: async () => (await import('./commands/tools/demo.ts')).demo,
    },
    up: {
      summary: 'set up everything in this folder: service, policy, agent, and a test turn',
      load: async () => (await import('./commands/agents/up.ts')).up,
    },
    down: {
      summary: 'undo everything that "up" did in this folder',
      load: async () => (await import('./commands/agents/down.ts')).down,
    },
  },
  Run: {
    dev: {
      summary: 'start a NATS server and the service on this machine',
      load: async () => (await import('./commands/run/services.ts')).dev,
    },
    serve: {
      summary: 'start the service on an existing NATS server',
      load: async () => (await import('./commands/run/services.ts')).serve,
    },
    runner: {
      summary: 'run checks that need a workspace (commands, files, git) on that machine',
      load: async () => (await import('./commands/run/services.ts')).runner,
    },
  },
  Agents: {
    init: {
      summary: 'set up an agent to ask before it stops',
      load: async () => (await import('./commands/agents/init.ts')).init,
    },
    hook: {
      summary: 'answer one hook call on stdin (called by the agent)',
      load: async () => (await import('./commands/agents/hook.ts')).hook,
    },
    doctor: {
      summary: 'check the whole setup and say how to fix problems',
      load: async () => (await import('./commands/agents/doctor.ts')).doctor,
    },
    acp: {
      summary: 'run an ACP agent behind stopgate, for an editor',
      load: async () => (await import('./commands/agents/acp.ts')).acp,
    },
    loop: {
      summary: 'run an agent repeatedly, with the next prompt each time, until it may stop',
      load: async () => (await import('./commands/agents/loop.ts')).loop,
    },
    resumable: {
      summary: 'list agents whose usage limit has reset, with the commands that resume them',
      load: async () => (await import('./commands/agents/resumable.ts')).resumable,
    },
  },
  Decide: {
    decide: {
      summary: 'may this worker stop? The attempt is logged and counted',
      load: async () => (await import('./commands/decide/stop-attempt.ts')).decide,
    },
    probe: {
      summary: 'would this worker be allowed to stop? Nothing is logged or counted',
      load: async () => (await import('./commands/decide/stop-attempt.ts')).probe,
    },
    verify: {
      summary: 'is the work of a worker, or a task, complete?',
      load: async () => (await import('./commands/decide/stop-attempt.ts')).verify,
    },
    'claim-next': {
      summary: 'claim the next waiting task of a queue for a worker',
      load: async () => (await import('./commands/decide/claim-next.ts')).claimNext,
    },
    publish: {
      summary: 'publish an entry to the log as an agent would',
      load: async () => (await import('./commands/decide/publish.ts')).publish,
    },
    mcp: {
      summary: 'serve MCP on stdio: hooks, iterations and checkpoints as tools',
      load: async () => (await import('./commands/decide/mcp.ts')).mcp,
    },
  },
  Inspect: {
    workers: {
      summary: 'list workers: state, presence, retries, idle time, last decision',
      load: async () => (await import('./commands/inspect/actors.ts')).workers,
    },
    top: {
      summary: 'show the fleet live, with keys to answer agents that wait for a person',
      load: async () => (await import('./commands/inspect/top.ts')).top,
    },
    worker: {
      summary: 'show one worker: plan, clocks, last decision, timeline',
      load: async () => (await import('./commands/inspect/actors.ts')).worker,
    },
    tasks: {
      summary: 'list tasks: state, worker, queue, iteration, plan',
      load: async () => (await import('./commands/inspect/actors.ts')).tasks,
    },
    task: {
      summary: 'show one task: plan, hooks, checkpoints, timeline',
      load: async () => (await import('./commands/inspect/actors.ts')).task,
    },
    queues: {
      summary: 'list queues and the number of waiting tasks',
      load: async () => (await import('./commands/inspect/actors.ts')).queues,
    },
    escalations: {
      summary: 'list the escalations and questions that wait for a person',
      load: async () => (await import('./commands/inspect/escalations.ts')).escalations,
    },
    spend: {
      summary: 'report usage in dollars and tokens, by day, model, task or worker',
      load: async () => (await import('./commands/inspect/spend.ts')).spend,
    },
    explain: {
      summary: 'explain why a worker may or may not stop, guard by guard',
      load: async () => (await import('./commands/inspect/explain.ts')).explain,
    },
    rules: {
      summary: 'list how each check of the policies has done, and which deserve a look',
      load: async () => (await import('./commands/inspect/rules.ts')).rules,
    },
    attest: {
      summary: 'print or verify a receipt: this git tree was judged complete',
      load: async () => (await import('./commands/inspect/attest.ts')).attest,
    },
    tail: {
      summary: 'follow the log: entries and decisions, one per line',
      load: async () => (await import('./commands/inspect/tail.ts')).tail,
    },
    'dead-letters': {
      summary: 'list the entries that were not valid, and why',
      load: async () => (await import('./commands/inspect/dead-letters.ts')).deadLetters,
    },
  },
  Operate: {
    ack: {
      summary: 'acknowledge an escalation and end its reminders',
      load: async () => (await import('./commands/operate/actions.ts')).ack,
    },
    resolve: {
      summary: 'end an escalation: resume or stop the worker',
      load: async () => (await import('./commands/operate/actions.ts')).resolve,
    },
    answer: {
      summary: 'allow or deny the permission request of an agent',
      load: async () => (await import('./commands/operate/actions.ts')).answer,
    },
    retire: {
      summary: 'take a worker out of service',
      load: async () => (await import('./commands/operate/actions.ts')).retire,
    },
    pause: {
      summary: 'let a worker stop without checks, for a time or until its session ends',
      load: async () => (await import('./commands/operate/actions.ts')).pause,
    },
    unpause: {
      summary: 'end a pause',
      load: async () => (await import('./commands/operate/actions.ts')).unpause,
    },
    audit: {
      summary: 'list the actions of operators',
      load: async () => (await import('./commands/operate/audit.ts')).audit,
    },
    snapshot: {
      summary: 'take a snapshot of a fleet now, so that its next start is fast',
      load: async () => (await import('./commands/operate/snapshot.ts')).snapshot,
    },
  },
  Tools: {
    export: {
      summary: 'print the log, or the part about one worker, as JSON lines',
      load: async () => (await import('./commands/tools/export.ts')).exportLog,
    },
    import: {
      summary: 'restore the log of an empty fleet from an export',
      load: async () => (await import('./commands/tools/import.ts')).importLog,
    },
    replay: {
      summary: 'decide a recorded log again, optionally under other policies',
      load: async () => (await import('./commands/tools/replay.ts')).replay,
    },
    backtest: {
      summary: 'judge what agents already did here under a policy, without a service',
      load: async () => (await import('./commands/tools/backtest.ts')).backtest,
    },
    test: {
      summary: 'test policies with cases, without a service',
      load: async () => (await import('./commands/tools/test.ts')).test,
    },
    check: {
      summary: 'validate a stopgate.yaml without a service, for editors and CI',
      load: async () => (await import('./commands/tools/check.ts')).check,
    },
    permissions: {
      summary: 'print accounts and permissions for your own NATS server',
      load: async () => (await import('./commands/tools/permissions.ts')).permissions,
    },
    context: {
      summary: 'name the services that you work with, and select one',
      load: async () => (await import('./commands/tools/context.ts')).context,
    },
    token: {
      summary: 'generate a token for HTTP and its line for stopgate.yaml',
      load: async () => (await import('./commands/tools/token.ts')).token,
    },
    'support-bundle': {
      summary: 'write a diagnostics file without secrets, to send to somebody who helps you',
      load: async () => (await import('./commands/tools/support-bundle.ts')).supportBundle,
    },
    bench: {
      summary: 'compare the speed of decisions with raw NATS, on a temporary server',
      load: async () => (await import('./commands/tools/bench.ts')).bench,
    },
    completion: {
      summary: 'print a completion script for bash, zsh or fish',
      load: async () => (await import('./commands/tools/completion.ts')).completion,
    },
  },
};

export const commands: CommandTable = Object.assign({}, ...Object.values(commandGroups));
