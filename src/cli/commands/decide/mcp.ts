/** mcp: serves the tools of the service to one agent on stdin and stdout. */
import { defineCommand, option } from '../../command.ts';
import { connect, resolveAddress } from '../../connection.ts';
import { agentAddressArgs, idOf } from '../../option-values.ts';

export const mcp = defineCommand({
  args: {
    worker: option('W', 'the worker for tool calls that name none', idOf('worker')),
    ...agentAddressArgs,
  },
  details: [
    'Speaks MCP on stdin and stdout until stdin ends. Messages for people go to stderr.',
    'It starts even without a service: its tools then report what is missing, and work as soon as there is one.',
    "It only needs an agent's permissions. The service offers the same tools over HTTP at /mcp.",
  ],
  examples: ['stopgate mcp --worker w1', 'stopgate mcp --nats nats://127.0.0.1:4222 --fleet main'],
  run: async ({ flags, io, note, asTyped }) => {
    const { worker = null } = flags;
    // Resolved for each connection, because a "stopgate dev" that starts later has another port.
    const resolve = async () => ({ ...(await resolveAddress(flags, io, 'agent')), name: 'stopgate mcp' });
    const { fleet } = await resolve();
    const signal = io.interrupt();
    if (io.isTTY)
      note('stopgate mcp: waiting for an MCP client on stdin. Add this command to your agent, or press Ctrl-C');
    const [{ serveStdio }, { createNatsPort }] = await Promise.all([
      import('../../../mcp/stdio.ts'),
      import('../../../mcp/nats-port.ts'),
    ]);
    const port = createNatsPort(fleet, async () => connect(await resolve()));
    try {
      await serveStdio({ port, worker, spell: asTyped, stdin: io.stdin, stdout: io.stdout, signal, note });
    } finally {
      await port.close();
    }
    return 0;
  },
});
