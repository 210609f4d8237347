/** acp: runs an Agent Client Protocol agent and relays between it and an editor. */
import { existsSync } from 'node:fs';
import type { ServiceLink } from '../../../acp/worker-link.ts';

import { AppError } from '../../../errors.ts';
import type { GroupEnd } from '../../../runner/process-group.ts';
import { commandLine, defineCommand, option } from '../../command.ts';
import { connectAsAgent, resolveAddress } from '../../connection.ts';
import { agentAddressArgs, idOf } from '../../option-values.ts';
import { environmentOf, refuseUnknownProgram } from './agent-turn.ts';

export const acp = defineCommand({
  args: {
    command: commandLine('the agent and its arguments'),
    policy: option('P', 'the policy to request for its sessions', idOf('policy')),
    ...agentAddressArgs,
  },
  details: [
    'Starts COMMAND, an agent that speaks the Agent Client Protocol (ACP) on stdin and stdout, and passes everything between it and your editor. In the settings of the editor, put this in front of the command of the agent.',
    'When a turn ends, it asks whether the agent may stop. If not, the agent is prompted again in the same turn. Each session is a worker.',
    'The agent needs no hooks. Without a service it works as before, and the editor shows that nothing was judged.',
    'Exit code: that of the agent if it exits first; 0 if the editor disconnects; 2 if the agent cannot be started.',
  ],
  examples: ['stopgate acp -- opencode acp', 'stopgate acp --policy strict -- gemini --acp'],
  run: async ({ flags, io, note }) => {
    const { policy } = flags;
    const [file, ...args] = flags.command;
    if (file === undefined)
      throw new AppError('input.bad', 'no agent given; write its command after "--": stopgate acp -- AGENT ARGS…');
    refuseUnknownProgram(file, io);
    // Report a bad option or file now rather than at the first session.
    await resolveAddress(flags, io, 'agent');
    const signal = io.interrupt();
    if (io.isTTY)
      note(
        'stopgate acp: waiting for an editor on stdin. Add this command to your editor as an agent, or press Ctrl-C',
      );
    const [{ serveAcp }, { createServiceLink, createWorkerLink }] = await Promise.all([
      import('../../../acp/serve-acp.ts'),
      import('../../../acp/worker-link.ts'),
    ]);
    const services = new Map<string, ServiceLink>();
    // Editors start agents in any folder, so the session's folder determines the service, unless an option names one.
    const isServiceNamed = [flags.nats, flags.creds, flags.config].some((value) => value !== undefined);
    const serviceOf = (folder: string): ServiceLink => {
      const cwd = isServiceNamed || !existsSync(folder) ? io.cwd : folder;
      const known = services.get(cwd);
      if (known !== undefined) return known;
      // Resolved for each connection, because a "stopgate dev" that starts later has another port.
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
