/** Options of the commands that are clients of a service. */
import { type Arguments, flag, option } from './command.ts';

export const clientArgs = {
  nats: option(
    'URL',
    'the NATS server (STOPGATE_NATS; default: the one of "stopgate dev" in this folder, else nats://127.0.0.1:4222)',
  ),
  creds: option('FILE', 'credentials for NATS (STOPGATE_CREDS); those of "stopgate dev" are found automatically'),
  fleet: option('F', 'the fleet of the workers and tasks (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'a file with more options (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
  json: flag('print JSON, for programs'),
} as const satisfies Arguments;

export const timeoutArg = {
  timeout: option('MS', 'how long to wait for an answer: 500, 5s, 10m (default: 5s)'),
} as const satisfies Arguments;

export const entriesArg = {
  entries: option('N', 'show the newest N entries in the timeline (default: 20)'),
} as const satisfies Arguments;
