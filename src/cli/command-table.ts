/** The commands in the order of help, by the groups that it shows. */
import type { CommandTable } from './command.ts';

export const commandGroups: Readonly<Record<string, CommandTable>> = {
  Run: {
    dev: {
      summary: 'start a NATS server and the service on this machine, and print how to try it',
      load: async () => (await import('./commands/run/services.ts')).dev,
    },
    serve: {
      summary: 'start the service on an existing NATS server',
      load: async () => (await import('./commands/run/services.ts')).serve,
    },
    runner: {
      summary: 'run commands and check files and repositories for the service, next to a workspace',
      load: async () => (await import('./commands/run/services.ts')).runner,
    },
  },
  Agents: {
    init: {
      summary: 'set up an agent, so that it asks before it stops',
      load: async () => (await import('./commands/agents/init.ts')).init,
    },
    hook: {
      summary: 'answer one hook call on stdin; the settings of the agent run this',
      load: async () => (await import('./commands/agents/hook.ts')).hook,
    },
    doctor: {
      summary: 'check everything that a block depends on, and say how to fix what is wrong',
      load: async () => (await import('./commands/agents/doctor.ts')).doctor,
    },
    acp: {
      summary: 'be an ACP agent for an editor, in front of another one, and judge its stops',
      load: async () => (await import('./commands/agents/acp.ts')).acp,
    },
    loop: {
      summary: 'run an agent again and again, with the next prompt, until it may stop',
      load: async () => (await import('./commands/agents/loop.ts')).loop,
    },
    resumable: {
      summary: 'list agents whose usage limit is over, with the commands that resume them; --run runs these',
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
      summary: 'is its work, or a task, complete? A cap or a bypass does not count as complete',
      load: async () => (await import('./commands/decide/stop-attempt.ts')).verify,
    },
    'claim-next': {
      summary: 'claim the first task that waits in a queue, for a worker',
      load: async () => (await import('./commands/decide/claim-next.ts')).claimNext,
    },
    publish: {
      summary: 'publish an entry to the log, as an agent would',
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
      summary: 'show the fleet live on the terminal, with keys to answer agents that wait for a person',
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
      summary: 'list queues, and how many tasks wait in each',
      load: async () => (await import('./commands/inspect/actors.ts')).queues,
    },
    escalations: {
      summary: 'list what waits for a person, escalations and what agents ask: since when, and why',
      load: async () => (await import('./commands/inspect/escalations.ts')).escalations,
    },
    spend: {
      summary: 'what agents have used, in dollars and tokens, by day, model, task or worker',
      load: async () => (await import('./commands/inspect/spend.ts')).spend,
    },
    explain: {
      summary: 'explain why a worker may or may not stop, and what each guard looked at',
      load: async () => (await import('./commands/inspect/explain.ts')).explain,
    },
    tail: {
      summary: 'follow the log: entries and decisions, one per line',
      load: async () => (await import('./commands/inspect/tail.ts')).tail,
    },
  },
  Operate: {
    ack: {
      summary: 'acknowledge an escalation, which ends its reminders',
      load: async () => (await import('./commands/operate/actions.ts')).ack,
    },
    resolve: {
      summary: 'end an escalation: resume or stop',
      load: async () => (await import('./commands/operate/actions.ts')).resolve,
    },
    answer: {
      summary: 'allow or deny what an agent asks permission for',
      load: async () => (await import('./commands/operate/actions.ts')).answer,
    },
    retire: {
      summary: 'take a worker out of service',
      load: async () => (await import('./commands/operate/actions.ts')).retire,
    },
    pause: {
      summary: 'let a worker stop unjudged, for a time or until its session ends',
      load: async () => (await import('./commands/operate/actions.ts')).pause,
    },
    unpause: {
      summary: 'end a pause: stops are judged again',
      load: async () => (await import('./commands/operate/actions.ts')).unpause,
    },
    audit: {
      summary: 'list what operators did, to which worker or task, and when',
      load: async () => (await import('./commands/operate/audit.ts')).audit,
    },
    snapshot: {
      summary: 'take a snapshot of the state of a fleet now, so that its next start is fast',
      load: async () => (await import('./commands/operate/snapshot.ts')).snapshot,
    },
  },
  Tools: {
    export: {
      summary: 'print the log, or what concerns one worker, in the form that replay reads',
      load: async () => (await import('./commands/tools/export.ts')).exportLog,
    },
    import: {
      summary: 'restore the log of a fleet that has none, from what export printed',
      load: async () => (await import('./commands/tools/import.ts')).importLog,
    },
    replay: {
      summary: 'fold a log from a file or from NATS, and print what was decided, or would be under other policies',
      load: async () => (await import('./commands/tools/replay.ts')).replay,
    },
    test: {
      summary: 'try policies on cases, without a service: entries in, expected decisions out',
      load: async () => (await import('./commands/tools/test.ts')).test,
    },
    check: {
      summary: 'check whether a stopgate.yaml is valid, without a service, for an editor or CI',
      load: async () => (await import('./commands/tools/check.ts')).check,
    },
    permissions: {
      summary: 'print accounts and permissions for your own NATS server',
      load: async () => (await import('./commands/tools/permissions.ts')).permissions,
    },
    token: {
      summary: 'make a token for HTTP, and the line of stopgate.yaml that gives it a role',
      load: async () => (await import('./commands/tools/token.ts')).token,
    },
    'support-bundle': {
      summary: 'write a file with what somebody needs to help you, without secrets',
      load: async () => (await import('./commands/tools/support-bundle.ts')).supportBundle,
    },
    bench: {
      summary: 'compare decisions with raw NATS, on its own server',
      load: async () => (await import('./commands/tools/bench.ts')).bench,
    },
    completion: {
      summary: 'print a completion script for bash, zsh or fish',
      load: async () => (await import('./commands/tools/completion.ts')).completion,
    },
  },
};

export const commands: CommandTable = Object.assign({}, ...Object.values(commandGroups));
