/** Options of what runs the service: `serve` and `dev`. */
import { resolve } from 'node:path';
import type { Arguments } from './argument-types.ts';
import { readCount } from './option-values.ts';
import type { DevFlags } from './services.ts';

export const serveArgs = {
  http: {
    type: 'string',
    valueHint: 'HOST:PORT|off',
    description:
      'hooks, API and metrics (STOPGATE_HTTP; default: 127.0.0.1:4280); beyond this machine it needs --token',
  },
  fleet: { type: 'string', valueHint: 'F', description: 'the tenant that it serves (STOPGATE_FLEET; default: main)' },
  config: {
    type: 'string',
    valueHint: 'FILE',
    description: 'policies, commands and options (STOPGATE_CONFIG; default: stopgate.yaml, where there is one)',
  },
  token: {
    type: 'string',
    valueHint: 'TOKEN',
    description: 'what HTTP callers must show (STOPGATE_TOKEN, which no process list shows)',
  },
  'log-level': {
    type: 'string',
    valueHint: 'LEVEL',
    description: 'debug, info, warn, error or silent, on stderr (STOPGATE_LOG_LEVEL; default: info)',
  },
  'accept-empty-log': {
    type: 'boolean',
    description: 'go on although the log that was there is gone: its history is lost',
  },
} as const satisfies Arguments;

export const natsServerArgs = {
  port: {
    type: 'string',
    valueHint: 'PORT',
    description: 'the port of the nats-server that it starts (default: 4222; 0: any)',
  },
  store: { type: 'string', valueHint: 'DIR', description: 'where that server keeps its files (default: .stopgate)' },
} as const satisfies Arguments;

/** @throws AppError input.bad */
export function readNatsServer(
  flags: {
    readonly port: string | undefined;
    readonly store: string | undefined;
    readonly 'accept-empty-log': boolean;
  },
  cwd: string,
): DevFlags {
  return {
    store: flags.store === undefined ? undefined : resolve(cwd, flags.store),
    port: flags.port === undefined ? undefined : readCount('--port', flags.port, 0, 65_535),
    acceptEmptyLog: flags['accept-empty-log'],
  };
}
