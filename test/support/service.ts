/** Long-running commands: `serve`, `dev` and `runner` print one line when they are ready. */
import { type Command, type StartCommand, startCommand } from './command.ts';
import { startBuild, startShipped } from './shipped.ts';

export type Ready = {
  readonly ready: true;
  readonly nats: string;
  readonly http: string | null;
  readonly fleet: string;
};
export type Service = Command & { readonly ready: Ready };
export type StartService = (
  args: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
) => Promise<Service>;

/** Starts it in this process. @throws Error with its stderr if it ends before it is ready */
export const startService: StartService = (...place) => untilReady(startCommand, ...place);

/** Starts the shipped program as a process. */
export const serveShipped: StartService = (...place) => untilReady(startShipped, ...place);

/** @param program the `main.js` of another build */
export const serveBuild =
  (program: string): StartService =>
  (...place) =>
    untilReady(startBuild(program), ...place);

async function untilReady(start: StartCommand, ...[args, cwd, env = {}]: Parameters<StartService>): Promise<Service> {
  const command = start(args, { cwd, env });
  await command.printed(/^\{"ready":true.*\n/);
  return { ...command, ready: JSON.parse(command.stdout()) as Ready };
}

/** @throws Error if it does not exit, so that the test fails instead of hanging */
export async function endService(service: Service, timeoutMs = 30_000): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'late' as const);
  });
  const end = await Promise.race([service.kill('SIGTERM'), late]).finally(() => clearTimeout(timer));
  if (end === 'late') throw new Error(`the service did not end within ${timeoutMs} ms of SIGTERM: ${service.stderr()}`);
}
