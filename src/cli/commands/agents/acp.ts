/** acp: an agent of the Agent Client Protocol for an editor, in front of another one. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ServiceLink } from '../../../acp/worker-link.ts';
import { findProgram } from '../../../agents/setup/places.ts';
import { AppError } from '../../../errors.ts';
import type { GroupEnd } from '../../../runner/process-group.ts';
import { commandLine, defineCommand, option } from '../../command.ts';
import { connectAsAgent, resolvePlace } from '../../connection.ts';
import { agentPlaceArgs, idOf } from '../../option-values.ts';
import { environmentOf } from './agent-turn.ts';

export const acp = defineCommand({
  args: {
    command: commandLine('the agent, with its arguments'),
    policy: option('P', 'the policy that its sessions ask for', idOf('policy')),
    ...agentPlaceArgs,
  },
  details: [
    'Starts COMMAND, an agent that speaks the Agent Client Protocol (ACP) on stdin and stdout, and is that agent for your editor. In the settings of the editor, put this before the command of the agent.',
    'Everything passes through. When a turn ends, it asks whether the agent may stop; if not, the agent is prompted again in the same turn. Each session is a worker.',
    'It needs no hooks in the settings of the agent. Without a service the agent works as ever, and the editor is told that nothing was judged.',
    'Exit code: that of the agent if it ends first; 0 if the editor leaves. 2: the agent cannot be started.',
  ],
  examples: ['stopgate acp -- opencode acp', 'stopgate acp --policy strict -- gemini --acp'],
  run: async ({ flags, io, note }) => {
    const { policy } = flags;
    const [file, ...args] = flags.command;
    if (file === undefined)
      throw new AppError('input.bad', 'which agent? Write it behind "--": stopgate acp -- AGENT ARGS…');
    const isFound = file.includes('/') ? existsSync(resolve(io.cwd, file)) : findProgram(file, io.env) !== null;
    if (!isFound) throw new AppError('input.bad', `cannot run '${file}': there is no such command`);
    // A bad option or file is reported at once, and not at the first session.
    await resolvePlace(flags, io, 'agent');
    const signal = io.interrupt();
    if (io.isTTY)
      note('stopgate acp: waiting for an editor on stdin; add this command to it as an agent, or press Ctrl-C');
    const [{ serveAcp }, { createServiceLink, createWorkerLink }] = await Promise.all([
      import('../../../acp/serve-acp.ts'),
      import('../../../acp/worker-link.ts'),
    ]);
    const services = new Map<string, ServiceLink>();
    /** Editors start their agents anywhere: it is the folder of the session whose service is meant, unless one is named. */
    const serviceOf = (folder: string): ServiceLink => {
      const isNamed = [flags.nats, flags.creds, flags.config].some((it) => it !== undefined);
      const cwd = isNamed || !existsSync(folder) ? io.cwd : folder;
      const known = services.get(cwd);
      if (known !== undefined) return known;
      // Found each time: a "stopgate dev" that is started later has another port.
      const service = createServiceLink(() => connectAsAgent(flags, { ...io, cwd }, 'stopgate acp'));
      services.set(cwd, service);
      return service;
    };
    try {
      const ended = await serveAcp({
        command: [file, ...args],
        cwd: io.cwd,
        env: environmentOf(io),
        policy,
        signal,
        note,
        stdin: io.stdin,
        stdout: io.stdout,
        stderr: io.stderr,
        open: (worker, folder) => createWorkerLink(worker, serviceOf(folder), note),
      });
      if (ended.by === 'signal') return 130;
      if (ended.by === 'editor') return 0;
      const { end } = ended;
      if (end.by === 'exit' && end.code === 0) return 0;
      note(`stopgate acp: the agent ended with ${describeEnd(end)}`);
      return end.by === 'exit' ? end.code : 1;
    } finally {
      await Promise.all([...services.values()].map((service) => service.close()));
    }
  },
});

const describeEnd = (end: GroupEnd): string =>
  end.by === 'exit' ? `exit code ${end.code}` : end.by === 'signal' ? `signal ${end.signal}` : end.by;
