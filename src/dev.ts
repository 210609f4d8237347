/** `stopgate dev` and `serve --embedded`: the service on a nats-server of its own, with its store in a folder. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Io } from './cli/io.ts';
import type { DevFlags } from './cli/services.ts';
import type { Config } from './config.ts';
import { openEmbeddedServer } from './nats/embedded-server.ts';
import { loggerFor, type Ready, serve } from './serve.ts';

export type DevOptions = DevFlags & { readonly hints: boolean; readonly streamReplicas?: number | undefined };

export async function serveEmbedded(config: Config, options: DevOptions, io: Io): Promise<number> {
  const logger = loggerFor(config);
  const storeDir = resolve(io.cwd, options.store ?? '.stopgate');
  mkdirSync(storeDir, { recursive: true, mode: 0o700 });
  const server = await openEmbeddedServer({ storeDir, port: options.port ?? null, fleet: config.fleet, log: logger });
  const serviceFile = join(storeDir, 'service.json');
  try {
    return await serve({
      ...{ config, logger, io, nats: server.url, creds: server.credentials('service') },
      ...{ acceptEmptyLog: options.acceptEmptyLog, streamReplicas: undefined },
      onReady: (ready) => {
        const { nats, http, fleet } = ready;
        writeFileSync(serviceFile, `${JSON.stringify({ nats, http, fleet, pid: process.pid })}\n`, { mode: 0o600 });
        if (options.hints) io.stderr.write(hintsFor(ready));
      },
      ended: server.closed.then(() => 'nats-server has ended'),
    });
  } finally {
    rmSync(serviceFile, { force: true });
    await server.close();
  }
}

/** Five lines that a person can paste next, in another terminal in the same folder. */
function hintsFor({ http }: Ready): string {
  const lines = [
    ['npx stopgate decide w1', 'may worker w1 stop? nothing says no yet'],
    [`npx stopgate publish task T-1 task.created '{"title":"Try stopgate"}'`, 'a task waits in queue main'],
    [`npx stopgate publish worker w1 plan.updated '{"steps":[{"title":"Write tests","status":"pending"}]}'`, ''],
    ['npx stopgate workers --watch', 'who is where, live'],
    http === null ? ['npx stopgate tail', 'the log as it grows'] : [`curl -s ${http}/readyz`, 'over HTTP; hooks go to /hooks/claude'],
  ];
  const width = 56;
  const text = lines.map(([command = '', note]) => `  ${note === '' ? command : `${command.padEnd(width)} # ${note}`}`);
  return `\nstopgate is ready. In another terminal, in this folder:\n\n${text.join('\n')}\n\nCtrl-C ends it; the log stays.\n`;
}
