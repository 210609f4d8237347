/** mcp: the tools of the service for one agent, on stdin and stdout. */

import { defineCommand, option } from '../../command.ts';
import { connect, resolvePlace } from '../../connection.ts';
import { agentPlaceArgs, idOf } from '../../option-values.ts';

export const mcp = defineCommand({
  args: {
    worker: option('W', 'the worker, if a tool call does not name one', idOf('worker')),
    ...agentPlaceArgs,
  },
  details: [
    'Speaks MCP on stdin and stdout until stdin ends. Messages for people go to stderr.',
    'It also starts without a service: its tools then report what is missing, and work as soon as there is one.',
    "It needs no more than an agent's permissions. The service serves the same tools over HTTP at /mcp.",
  ],
  examples: ['stopgate mcp --worker w1', 'stopgate mcp --nats nats://127.0.0.1:4222 --fleet main'],
  run: async ({ flags, io, note, asTyped }) => {
    const { worker = null } = flags;
    // Resolved for each connection: a "stopgate dev" that is started later has another port.
    const place = async () => ({ ...(await resolvePlace(flags, io, 'agent')), name: 'stopgate mcp' });
    const { fleet } = await place();
    const signal = io.interrupt();
    if (io.isTTY)
      note('stopgate mcp: waiting for an MCP client on stdin; add this command to your agent, or press Ctrl-C');
    const [{ serveStdio }, { createNatsPort }] = await Promise.all([
      import('../../../mcp/stdio.ts'),
      import('../../../mcp/nats-port.ts'),
    ]);
    const port = createNatsPort(fleet, async () => connect(await place()));
    try {
      await serveStdio({ port, worker, spell: asTyped, stdin: io.stdin, stdout: io.stdout, signal, note });
    } finally {
      await port.close();
    }
    return 0;
  },
});
