/** mcp: the tools of the service for one agent, on stdin and stdout. */
import { clientArgs } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { connect, resolvePlace } from '../connection.ts';
import { readId } from '../option-values.ts';

const { json: _, ...placeArgs } = clientArgs;

export const mcp = defineCommand({
  args: {
    worker: {
      type: 'string',
      valueHint: 'W',
      description: 'who asks, where a tool call does not say',
    },
    ...placeArgs,
    creds: {
      ...placeArgs.creds,
      description: 'credentials for it (STOPGATE_CREDS); "stopgate dev" asks agents for none',
    },
  },
  details: [
    'Speaks MCP on stdin and stdout until stdin ends; what it has to say to a person goes to stderr.',
    'It starts without a service too: tools then say what is missing, and work as soon as it is there.',
    "It needs an agent's rights only. Over HTTP the service has the same tools at /mcp.",
  ],
  examples: ['stopgate mcp --worker w1', 'stopgate mcp --nats nats://127.0.0.1:4222 --fleet main'],
  run: async ({ flags, io, note }) => {
    const worker = flags.worker === undefined ? null : readId('worker', flags.worker);
    // Looked up anew for each connection: a "stopgate dev" that is started later has another port.
    const place = async () => ({ ...(await resolvePlace(flags, io, 'agent')), name: 'stopgate mcp' });
    const { fleet } = await place();
    const signal = io.interrupt();
    if (io.isTTY)
      note('stopgate mcp: waiting for an MCP client on stdin; put this command into your agent, or press Ctrl-C');
    const [{ serveStdio }, { createNatsPort }] = await Promise.all([
      import('../../mcp/stdio.ts'),
      import('../../mcp/nats-port.ts'),
    ]);
    const port = createNatsPort(fleet, async () => connect(await place()));
    try {
      await serveStdio({ port, worker, stdin: io.stdin, stdout: io.stdout, signal, note });
    } finally {
      await port.close();
    }
    return 0;
  },
});
