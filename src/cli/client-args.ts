/** Options of the commands that are clients of a service. */
import type { Arguments } from './argument-types.ts';

export const clientArgs = {
  nats: {
    type: 'string',
    valueHint: 'URL',
    description:
      'the NATS server (STOPGATE_NATS; default: that of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
  },
  creds: {
    type: 'string',
    valueHint: 'FILE',
    description: 'credentials for it (STOPGATE_CREDS); for "stopgate dev" they are found',
  },
  fleet: { type: 'string', valueHint: 'F', description: 'whose workers and tasks (STOPGATE_FLEET; default: main)' },
  config: {
    type: 'string',
    valueHint: 'FILE',
    description: 'where options may stand too (default: stopgate.yaml, where there is one)',
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
  entries: { type: 'string', valueHint: 'N', description: 'how long a timeline: the newest N entries (default: 20)' },
} as const satisfies Arguments;
