/**
 * Runs a folder's service in the background: under systemd or launchd where one works, otherwise as a plain process.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { shellWord } from '../../agents/shared/text.ts';
import { type Environment, homeFolder } from '../../config/environment.ts';
import type { ConfigFile } from '../../config/file.ts';
import { findStore, type ServiceFile } from '../../config/store.ts';
import { AppError } from '../../errors.ts';
import { startTimeOf } from '../../nats/embedded/process-identity.ts';
import { holderOf } from '../../nats/embedded/store-lock.ts';
import { sleep } from '../../timer.ts';
import { builtScript } from '../../version.ts';

export const supervisorKinds = ['systemd', 'launchd', 'process'] as const;
export type SupervisorKind = (typeof supervisorKinds)[number];

export type Supervisor = {
  readonly kind: SupervisorKind;
  readonly title: string;
  /** Files that it needs outside of the project, which the caller writes and removes. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** @returns whether the service has ended, if that is known. @throws AppError service.unreachable */
  readonly start: () => Promise<() => Promise<boolean>>;
  /**
   * Stops the service that `start` started, and waits until it has ended.
   * @param pid the process of the service, or null if it was never ready
   * @throws AppError service.busy if it does not end
   */
  readonly stop: (pid: number | null) => Promise<void>;
};

type ProjectFolders = {
  /** The folder of the service. */
  readonly folder: string;
  /** An existing folder outside of the project, for the state of this project. */
  readonly stateFolder: string;
  readonly env: Environment;
};

export type ServiceOptions = ProjectFolders & {
  /** `host:port` */
  readonly http: string;
  /** More variables of `env` that the service needs. */
  readonly variables: readonly string[];
};

export const storeOf = (folder: string): string => join(folder, '.stopgate');
export const logFile = (folder: string): string => join(storeOf(folder), 'service.log');

/** Returns a readable name, unique to the folder, for its service and for its state folder. */
export function projectName(folder: string): string {
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 8);
  return `${basename(folder).replaceAll(/[^\w-]+/g, '-')}-${hash}`;
}

export async function chooseSupervisor(options: ServiceOptions): Promise<Supervisor> {
  const { env } = options;
  if (process.platform === 'linux' && (await succeeds('systemctl', ['--user', 'show-environment'], env)))
    return createSupervisor('systemd', options);
  if (process.platform === 'darwin' && (await succeeds('launchctl', ['print', launchDomain()], env)))
    return createSupervisor('launchd', options);
  return createSupervisor('process', options);
}

/** Creates the supervisor that an earlier run chose, so that its service can be stopped. */
export function createSupervisor(kind: SupervisorKind, options: ServiceOptions): Supervisor {
  if (kind === 'process') return createProcess(options);
  return kind === 'systemd' ? createUnit(options) : createLaunchAgent(options);
}

const argumentsFor = ({ http }: ServiceOptions): string[] => [
  builtScript('main.js'),
  'serve',
  '--embedded',
  '--port',
  '0',
  '--http',
  http,
];

function createProcess(options: ServiceOptions): Supervisor {
  const { folder, env } = options;
  let ended: Promise<void> | null = null;
  let stopChild = () => {};
  return {
    kind: 'process',
    title: 'a background process',
    files: [],
    async start() {
      keepLog(folder);
      const log = openSync(logFile(folder), 'w', 0o600);
      const child = spawn(process.execPath, argumentsFor(options), {
        cwd: folder,
        detached: true,
        env: { ...env },
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      let hasEnded = false;
      ended = new Promise((resolve) => {
        for (const end of ['error', 'exit'])
          child.once(end, () => {
            hasEnded = true;
            resolve();
          });
      });
      stopChild = () => {
        child.ref(); // keeps this process alive until the child has ended
        child.kill('SIGTERM');
      };
      child.unref();
      return async () => hasEnded;
    },
    async stop(pid) {
      // The service may not have locked its store yet.
      if (ended !== null) {
        stopChild();
        return ended;
      }
      // Another process may hold the store by now, for example a `stopgate dev`.
      if (pid === null || (await holderOf(storeOf(folder))) !== pid) return;
      process.kill(pid, 'SIGTERM');
      await waitForEnd(folder, pid);
    },
  };
}

/** Keeps the log of the previous run, which may say why it crashed. */
function keepLog(folder: string): void {
  try {
    renameSync(logFile(folder), `${logFile(folder)}.1`);
  } catch {
    // there is none yet
  }
}

/** Creates the script for systemd and launchd, which do not have the environment of the user's shell. */
function createScript(options: ServiceOptions): { readonly path: string; readonly text: string } {
  const { folder, stateFolder, env, variables } = options;
  const names = Object.keys(env).filter(
    (name) => name === 'PATH' || name === 'LANG' || name.startsWith('STOPGATE_') || variables.includes(name),
  );
  const log = shellWord(logFile(folder));
  const lines = [
    '#!/bin/sh',
    `# Written by "stopgate up" in ${folder.replaceAll('\n', ' ')}.`,
    `cd ${shellWord(folder)} || exit 2`,
    ...names.sort().map((name) => `export ${name}=${shellWord(env[name] ?? '')}`),
    `mv -f ${log} ${shellWord(`${logFile(folder)}.1`)} 2>/dev/null`,
    `exec ${[process.execPath, ...argumentsFor(options)].map(shellWord).join(' ')} >${log} 2>&1`,
  ];
  return { path: join(stateFolder, 'run.sh'), text: `${lines.join('\n')}\n` };
}

function createUnit(options: ServiceOptions): Supervisor {
  const { folder, env } = options;
  const script = createScript(options);
  const unit = `stopgate-${projectName(folder)}.service`;
  const configFolder = env.XDG_CONFIG_HOME || join(homeFolder(env), '.config');
  const control = (...args: string[]) => run('systemctl', ['--user', ...args], env);
  // `%` is a specifier of systemd, and `$` a variable in commands.
  const quoted = `"${script.path.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
  const text = `# Written by "stopgate up" in ${folder.replaceAll('\n', ' ')}; "stopgate down" there removes it.
[Unit]
Description=stopgate (${projectName(folder)})

[Service]
ExecStart=/bin/sh ${quoted}
KillMode=mixed
Restart=on-failure
RestartPreventExitStatus=2
RestartSec=2s
TimeoutStopSec=15s
UMask=0077

[Install]
WantedBy=default.target
`;
  return {
    kind: 'systemd',
    title: `the systemd user unit ${unit}`,
    files: [{ path: join(configFolder, 'systemd/user', unit), text }],
    async start() {
      writeFileSync(script.path, script.text, { mode: 0o600 });
      await control('daemon-reload');
      await control('enable', '--now', unit);
      return () => succeeds('systemctl', ['--user', 'is-failed', '--quiet', unit], env);
    },
    stop: () => stopSupervised(folder, control('disable', '--now', unit)),
  };
}

const launchDomain = (): string => `gui/${userInfo().uid}`;

function createLaunchAgent(options: ServiceOptions): Supervisor {
  const { folder, env } = options;
  const script = createScript(options);
  const label = `stopgate.${projectName(folder)}`;
  const path = join(homeFolder(env), 'Library/LaunchAgents', `${label}.plist`);
  const escaped = script.path.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "stopgate up"; "stopgate down" in the same folder removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key><array><string>/bin/sh</string><string>${escaped}</string></array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`;
  return {
    kind: 'launchd',
    title: `the launchd agent ${label}`,
    files: [{ path, text }],
    async start() {
      writeFileSync(script.path, script.text, { mode: 0o600 });
      await run('launchctl', ['bootstrap', launchDomain(), path], env);
      return async () => false; // launchd does not tell
    },
    stop: () => stopSupervised(folder, run('launchctl', ['bootout', `${launchDomain()}/${label}`], env)),
  };
}

/** Returns the ready service of exactly this folder, whoever started it, or null if there is none. */
export async function findRunning(folder: string): Promise<ServiceFile | null> {
  const service = findStore(folder, folder)?.service ?? null;
  if (service === null || (await holderOf(storeOf(folder))) !== service.pid) return null;
  return service;
}

const pollMs = 50;
/** A start takes about a second, and more after the log has grown. */
const readyTimeoutMs = 60_000;
/** Twice as long as the service gives its own parts to close. */
const endTimeoutMs = 30_000;

/** @throws AppError service.unreachable with the end of the log, or the reason of `signal` */
export async function waitUntilReady(
  folder: string,
  hasEnded: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<ServiceFile> {
  const untilMs = performance.now() + readyTimeoutMs;
  while (performance.now() < untilMs) {
    signal.throwIfAborted();
    const service = await findRunning(folder);
    if (service !== null) return service;
    if (await hasEnded())
      throw new AppError('service.unreachable', `the service did not start${describeLogTail(folder)}`);
    await sleep(pollMs, signal);
  }
  throw new AppError(
    'service.unreachable',
    `the service was not ready within ${readyTimeoutMs / 1_000} s${describeLogTail(folder)}`,
  );
}

/** Waits until the process that holds the store has ended. Ignores a failure to stop a service that was not running. */
async function stopSupervised(folder: string, stopping: Promise<void>): Promise<void> {
  const holder = await holderOf(storeOf(folder));
  await stopping.catch(() => undefined);
  if (holder !== null) await waitForEnd(folder, holder);
}

const never = new AbortController().signal;

/** Waits until the store is free and the process has exited, which happens last. */
async function waitForEnd(folder: string, pid: number): Promise<void> {
  const started = startTimeOf(pid);
  const untilMs = performance.now() + endTimeoutMs;
  while ((await holderOf(storeOf(folder))) === pid || (started !== undefined && startTimeOf(pid) === started)) {
    if (performance.now() > untilMs)
      throw new AppError(
        'service.busy',
        `process ${pid} has not ended within ${endTimeoutMs / 1_000} s; see ${logFile(folder)}`,
      );
    await sleep(pollMs, never);
  }
}

const logTailLines = 5;

/** Returns the end of the log for an error message, because the log may be removed next. */
function describeLogTail(folder: string): string {
  try {
    const lines = readFileSync(logFile(folder), 'utf8').trim().split('\n').slice(-logTailLines);
    return lines.join('') === '' ? '' : `; the end of its log:\n${lines.join('\n')}`;
  } catch {
    return '';
  }
}

export const removeLogs = (folder: string): void => {
  for (const path of [logFile(folder), `${logFile(folder)}.1`]) rmSync(path, { force: true });
};

/** Returns the variables that stopgate.yaml names. The environment of a background service may lack them. */
export const variablesIn = ({ commands, tokens, escalation }: ConfigFile): string[] => [
  ...Object.values(commands).flatMap(({ inherit = [] }) => inherit),
  ...tokens.flatMap((token) => ('env' in token.source ? [token.source.env] : [])),
  ...(escalation?.webhook?.secretEnv == null ? [] : [escalation.webhook.secretEnv]),
];

const controlTimeoutMs = 30_000;

function run(program: string, args: readonly string[], env: Environment): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: { ...env }, timeout: controlTimeoutMs }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const why = stderr.trim().split('\n').at(-1) || error.message;
      reject(new AppError('service.unreachable', `"${program} ${args.join(' ')}" failed: ${why}`, { cause: error }));
    });
  });
}

const succeeds = (program: string, args: readonly string[], env: Environment): Promise<boolean> =>
  run(program, args, env).then(
    () => true,
    () => false,
  );
