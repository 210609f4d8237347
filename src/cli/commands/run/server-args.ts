/** Options of the commands that run the service: `serve` and `dev`. */
import { resolve } from 'node:path';
import { type Arguments, type DevFlags, flag, option } from '../../command.ts';
import { readCount } from '../../option-values.ts';

export const serveArgs = {
  http: option(
    'HOST:PORT|off',
    'the address of hooks, API and metrics (STOPGATE_HTTP; default: 127.0.0.1:4280); if other machines can reach it, it needs --token',
  ),
  fleet: option('F', 'the fleet to serve (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'policies, commands and options (STOPGATE_CONFIG; default: stopgate.yaml, if it exists)'),
  token: option('TOKEN', 'the token that HTTP callers must send (use STOPGATE_TOKEN to keep it out of process lists)'),
  'public-url': option(
    'URL',
    'the URL at which others reach the service through a proxy, e.g. https://stopgate.example.com (STOPGATE_PUBLIC_URL)',
  ),
  'tls-cert': option(
    'FILE',
    'use HTTPS with this PEM certificate, which is reloaded when it changes (STOPGATE_TLS_CERT)',
  ),
  'tls-key': option('FILE', 'the key of the certificate (STOPGATE_TLS_KEY)'),
  'log-level': option(
    'LEVEL',
    'what to log on stderr: debug, info, warn, error or silent (STOPGATE_LOG_LEVEL; default: info)',
  ),
  'accept-empty-log': flag('start even if an earlier log is gone, and lose its history'),
} as const satisfies Arguments;

/** Reads the options that `serve` and `dev` both pass on to the configuration, beside the fleet. */
export const readServeOptions = (
  flags: Readonly<
    Record<'http' | 'config' | 'token' | 'public-url' | 'tls-cert' | 'tls-key' | 'log-level', string | undefined>
  >,
) => ({
  ...{ http: flags.http, config: flags.config, token: flags.token, publicUrl: flags['public-url'] },
  ...{ tlsCert: flags['tls-cert'], tlsKey: flags['tls-key'], logLevel: flags['log-level'] },
});

export const natsServerArgs = {
  port: option('PORT', 'the port of its NATS server (default: 4222; 0: any free port)'),
  store: option('DIR', 'the folder for the files of its NATS server (default: .stopgate)'),
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
