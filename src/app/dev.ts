/**
 * `stopgate dev` and `serve --embedded`: starts the service with its own NATS server, which stores its data in a
 * folder.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DevFlags } from '../cli/command.ts';
import { programName } from '../cli/program-name.ts';
import { type Config, isOneFleet } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { FleetDirectory } from '../http/fleet-directory.ts';
import { probeAddress } from '../http/probe-address.ts';
import type { Logger } from '../log.ts';
import { openEmbeddedServer } from '../nats/embedded/embedded-server.ts';
import { hasHadLog, markLog } from '../nats/embedded/log-marker.ts';
import { requireOwnStore } from '../nats/embedded/own-store.ts';
import type { Io } from '../terminal/process-io.ts';
import { serve } from './serve.ts';

export type DevOptions = DevFlags & {
  readonly hints: boolean;
  readonly streamReplicas?: number | undefined;
  readonly rulesMax?: number | undefined;
  readonly logger: Logger;
};

export async function serveEmbedded(config: Config, options: DevOptions, io: Io): Promise<number> {
  const { logger } = options;
  if (!isOneFleet(config)) {
    const hint = 'name one with --fleet and remove the others from stopgate.yaml, or run your own NATS server';
    throw new AppError('config.bad', `the NATS server that stopgate starts serves only one fleet: ${hint}`);
  }
  const storeDir = resolve(io.cwd, options.store ?? '.stopgate');
  const { fleet, http } = config;
  // Check the address before creating the store, so that a refused start leaves nothing behind.
  if (http !== null && !existsSync(storeDir)) await probeAddress(http);
  mkdirSync(storeDir, { recursive: true, mode: 0o700 });
  requireOwnStore(storeDir);
  // The log and the credentials must not be committed.
  writeFileSync(join(storeDir, '.gitignore'), '*\n');
  const server = await openEmbeddedServer({
    storeDir,
    folder: realpathSync(dirname(config.filePath)),
    port: options.port ?? null,
    fleet,
    log: logger,
    env: io.env,
    // Only now, so that a second start in this folder reports the store in use rather than the port.
    beforeStart: async () => {
      if (http !== null) await probeAddress(http);
    },
  });
  const serviceFile = join(storeDir, 'service.json');
  try {
    return await serve({
      config,
      logger,
      io,
      nats: server.url,
      creds: server.credentials('service'),
      acceptEmptyLog: options.acceptEmptyLog,
      streamReplicas: options.streamReplicas,
      rulesMax: options.rulesMax,
      hadLog: hasHadLog(storeDir, fleet),
      operatorToken: operatorTokenIn(server.credentials('operator')),
      async onReady(ready, fleets) {
        const { nats, fleet } = ready;
        markLog(storeDir, config.fleet);
        // Clients only trust a loopback address, and a service on a wildcard address listens there, too.
        const http = ready.http?.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//127.0.0.1:') ?? null;
        writeFileSync(serviceFile, `${JSON.stringify({ nats, http, fleet, pid: process.pid })}\n`, { mode: 0o600 });
        return options.hints
          ? hintsFor({ config, http, worker: await newWorker(fleets, config.fleet), program: programName(io.env) })
          : '';
      },
      ended: server.closed.then(() => 'nats-server has ended'),
      idleExitMs: options.idleExitMs,
    });
  } finally {
    rmSync(serviceFile, { force: true });
    await server.close();
  }
}

/** The operator's NATS password is also the operator's HTTP token, since reading the file gives access to both. */
const operatorTokenIn = (file: string): string => (JSON.parse(readFileSync(file, 'utf8')) as { pass: string }).pass;

/** Returns an unused worker id for the hints: at a second start `w1` may have finished its step. */
async function newWorker(fleets: FleetDirectory, fleet: string): Promise<string> {
  const { service } = fleets.find(fleet);
  let number = service.status().workers + 1;
  while ((await service.peek(`w${number}`, 0)) !== null) number += 1;
  return `w${number}`;
}

type Hints = {
  readonly config: Config;
  readonly http: string | null;
  readonly worker: string;
  readonly program: string;
};

/** Five commands to try in another terminal, from a first rule to a blocked stop. */
function hintsFor({ config, http, worker, program }: Hints): string {
  const rule =
    config.fileText === null
      ? [
          `echo 'policies: { default: { checks: [{ plan: {} }] } }' > stopgate.yaml`,
          'within a second: every step of a plan must be done',
        ]
      : [`${program} queues`, 'the tasks that wait to be claimed'];
  const lines = [
    rule,
    [
      `${program} publish worker ${worker} step.updated '{"step":"1","title":"Write tests"}'`,
      `worker ${worker} plans a step`,
    ],
    [
      `${program} decide ${worker}`,
      config.fileText === null ? 'may it stop? Not yet, and why' : 'may it stop, and why?',
    ],
    [`${program} publish worker ${worker} step.updated '{"step":"1","status":"done"}'`, 'the step is done: now it may'],
    [`${program} worker ${worker}`, 'its state, plan and last decision; "tail" follows the log'],
  ];
  const text = lines.map(([command = '', note]) => `  ${command}\n      # ${note}`).join('\n');
  const page = http === null ? '' : `The inspector, in a browser: ${http}\n`;
  return `\nstopgate is ready. ${page}In another terminal, in this folder:\n\n${text}\n\nCtrl-C ends it; the log stays.\n`;
}
