/** The table of commands, in the order of help. */
import type { CommandTable } from './command.ts';

export const groups = ['Run it', 'Agents', 'Ask', 'Look', 'Operate', 'Files and shell'];

export const commands: CommandTable = {
  dev: {
    group: 'Run it',
    summary: 'a NATS server of its own and the service; prints how to try it',
    load: async () => (await import('./commands/dev.ts')).dev,
  },
  serve: {
    group: 'Run it',
    summary: 'the service, on a NATS server that runs already',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  runner: {
    group: 'Run it',
    summary: 'runs commands and looks at files and repositories for the service, next to a workspace',
    load: async () => (await import('./commands/runner.ts')).runner,
  },
  init: {
    group: 'Agents',
    summary: "write an agent's settings, so that it asks before it stops",
    load: async () => (await import('./commands/init.ts')).init,
  },
  hook: {
    group: 'Agents',
    summary: 'answer one hook call of an agent, on stdin; what its settings run',
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  doctor: {
    group: 'Agents',
    summary: 'check what stands between an agent and a block, and how to mend it',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  decide: {
    group: 'Ask',
    summary: 'may this worker stop? The attempt is logged and counts',
    load: async () => (await import('./commands/decide.ts')).decide,
  },
  probe: {
    group: 'Ask',
    summary: 'would it be allowed to stop? Nothing is logged or counted',
    load: async () => (await import('./commands/probe.ts')).probe,
  },
  verify: {
    group: 'Ask',
    summary: 'is its work complete? A cap or a bypass is no yes here',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  publish: {
    group: 'Ask',
    summary: 'put an entry into the log, as an agent would',
    load: async () => (await import('./commands/publish.ts')).publish,
  },
  mcp: {
    group: 'Ask',
    summary: 'the MCP server on stdio: hooks, iterations and checkpoints as tools',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  workers: {
    group: 'Look',
    summary: 'all workers: state, presence, retries, idle time, last decision',
    load: async () => (await import('./commands/workers.ts')).workers,
  },
  worker: {
    group: 'Look',
    summary: 'one worker: its plan, clocks, last decision and timeline',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  tasks: {
    group: 'Look',
    summary: 'all tasks: state, worker, queue, iteration, plan',
    load: async () => (await import('./commands/tasks.ts')).tasks,
  },
  task: {
    group: 'Look',
    summary: 'one task: its plan, hooks, checkpoints and timeline',
    load: async () => (await import('./commands/task.ts')).task,
  },
  queues: {
    group: 'Look',
    summary: 'all queues and how many tasks wait in them',
    load: async () => (await import('./commands/queues.ts')).queues,
  },
  escalations: {
    group: 'Look',
    summary: 'who waits for a person: since when, why, and who has said that he looks',
    load: async () => (await import('./commands/escalations.ts')).escalations,
  },
  tail: {
    group: 'Look',
    summary: 'follow the log, entries and decisions, a line each',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  ack: {
    group: 'Operate',
    summary: 'somebody looks at an escalation: no more reminders',
    load: async () => (await import('./commands/ack.ts')).ack,
  },
  resolve: {
    group: 'Operate',
    summary: 'end an escalation: let it go on, or stop it',
    load: async () => (await import('./commands/resolve.ts')).resolve,
  },
  retire: {
    group: 'Operate',
    summary: 'take a worker out of service',
    load: async () => (await import('./commands/retire.ts')).retire,
  },
  replay: {
    group: 'Files and shell',
    summary: 'fold a file of entries or a live log: what was decided, or would be by other rules',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  permissions: {
    group: 'Files and shell',
    summary: 'print accounts and permissions for a NATS server of your own',
    load: async () => (await import('./commands/permissions.ts')).permissions,
  },
  bench: {
    group: 'Files and shell',
    summary: 'measure decisions against raw NATS on a server of its own',
    load: async () => (await import('./commands/bench.ts')).bench,
  },
  completion: {
    group: 'Files and shell',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
};
