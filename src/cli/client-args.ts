/** Options of the commands that are clients of a service. */
import type { Arguments } from './command.ts';

export const clientArgs = {
  nats: {
    type: 'string',
    valueHint: 'URL',
    description:
      'the NATS server (STOPGATE_NATS; default: the one of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
  },
  creds: {
    type: 'string',
    valueHint: 'FILE',
    description: 'credentials for NATS (STOPGATE_CREDS); those of "stopgate dev" are found automatically',
  },
  fleet: {
    type: 'string',
    valueHint: 'F',
    description: 'the fleet of the workers and tasks (STOPGATE_FLEET; default: main)',
  },
  config: {
    type: 'string',
    valueHint: 'FILE',
    description: 'a file with more options (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)',
  },
  json: { type: 'boolean', description: 'print JSON, for programs' },
} as const satisfies Arguments;

export const timeoutArg = {
  timeout: {
    type: 'string',
    valueHint: 'MS',
    description: 'how long to wait for an answer: 500, 5s, 10m (default: 5s)',
  },
} as const satisfies Arguments;

export const entriesArg = {
  entries: { type: 'string', valueHint: 'N', description: 'show the newest N entries in the timeline (default: 20)' },
} as const satisfies Arguments;
