/** Checks what every agent needs: versions of Node and nats-server, a configuration, and a service that answers. */
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import type { Environment } from '../../config/environment.ts';
import { AppError } from '../../errors.ts';
import { accountLimit, askAccountLimit } from '../../nats/accounts.ts';
import { findBinary, updateCommand } from '../../nats/embedded/server-binary.ts';
import { isUnsafe } from '../../nats/server-version.ts';
import { missingPrograms } from '../setup/local-context.ts';
import { type Answer, bad, type Checks, ok, runChecks, skip, warn } from './doctor.ts';
import { askHttp, type Reply } from './session.ts';

export type ServiceState = {
  readonly answers: readonly Answer[];
  /** The service's address. Null if it is not ready. */
  readonly http: string | null;
  readonly needsToken: boolean;
};

const skewMsMax = 5_000;

/** @param hidesToken true if there is a token that must not be sent to this address */
export async function checkService(config: Config, machine: Machine, hidesToken: boolean): Promise<ServiceState> {
  const before = await runChecks(machineChecks, { ...machine, config });
  if (config.http === null) {
    const off = bad('http is off, but hooks need it', 'pass --http HOST:PORT, or set it in stopgate.yaml');
    return { answers: [...before, off], http: null, needsToken: false };
  }
  const { url } = config.http;
  const open = await askHttp(`${url}/readyz`, null);
  const needsToken = typeof open !== 'string' && open.status === 401;
  const reply = needsToken ? await askHttp(`${url}/readyz`, config.token) : open;
  const answers = await runChecks(serviceChecks, { url, reply, config, isWithheld: needsToken && hidesToken });
  return { answers: [...before, ...answers], http: readyReply(reply) === null ? null : url, needsToken };
}

export type Machine = { readonly nodeVersion: string; readonly env: Environment };

const machineChecks: Checks<Machine & { readonly config: Config }> = {
  node: ({ nodeVersion }) => checkNode(nodeVersion),
  natsServer: ({ env }) => checkNats(env),
  natsAccount: ({ config }) => checkAccount(config),
};

type ServiceSubject = {
  readonly url: string;
  /** The reply of `/readyz`. */
  readonly reply: Reply | string;
  readonly config: Config;
  readonly isWithheld: boolean;
};

const serviceChecks: Checks<ServiceSubject> = {
  ready: ({ url, reply, config, isWithheld }) =>
    isWithheld ? withheld(url) : judgeReady(url, reply, config.token, config),
  clock: ({ reply }) => (typeof reply !== 'string' && isStopgate(reply) ? checkClock(reply.date) : []),
  runners({ reply, config }) {
    const ready = readyReply(reply);
    return ready === null ? [] : checkRunners(ready.body, config.fleet);
  },
};

/** Returns the reply if the service is ready, otherwise null. */
const readyReply = (reply: Reply | string): Reply | null =>
  typeof reply !== 'string' && reply.status === 200 && isStopgate(reply) ? reply : null;

const withheld = (url: string): Answer =>
  bad(
    `${url} requires a token, but its address comes only from files of this folder, so your token was not sent`,
    `if you trust this server, pass --http ${url} or set STOPGATE_HTTP=${url}`,
  );

/**
 * For `init`, which may run before the service is started.
 * @returns null if a service answers; an empty list if nothing answers yet or it is still starting; otherwise the
 * problem: another program answers, or the certificate is not trusted
 */
export async function checkAnswer(url: string, token: string | null, config: Config): Promise<Answer[] | null> {
  const reply = await askHttp(`${url}/readyz`, token);
  // `fetch` refuses ports of other protocols ("bad port"). stopgate cannot listen there either.
  if (reply === 'ECONNREFUSED' || reply === 'bad port') return [];
  if (typeof reply !== 'string' && (reply.status === 401 || isStopgate(reply))) return reply.status >= 500 ? [] : null;
  return [judgeReady(url, reply, token, config)];
}

export function checkNode(version: string): Answer {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return ok(`node ${version}`);
  return bad(`node ${version} is too old`, 'install Node 20.19 or later');
}

/** Needed only by `dev` and `serve --embedded`, which start nats-server. */
async function checkNats(env: Environment): Promise<Answer> {
  try {
    const found = await findBinary(env);
    const name = `nats-server ${found.version.join('.')} (${found.path})`;
    return isUnsafe(found)
      ? warn(`any client can crash ${name}, or delete its streams, with a single message`, updateCommand(env))
      : ok(`"stopgate dev" starts ${name}`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return warn('there is no nats-server that "stopgate dev" could start', error.message);
  }
}

/** Checks the NATS server and account that somebody named. A server need not be reachable: hooks use only HTTP. */
async function checkAccount({ nats, natsIsDefault, creds, store }: Config): Promise<Answer[]> {
  // The embedded server limits only the agents' account, which does not hold the log.
  if (natsIsDefault || (creds === null && store?.service?.nats === nats)) return [];
  try {
    const isLimited = await askAccountLimit({ url: nats, credsFile: creds ?? undefined });
    if (isLimited === null) return [];
    return [
      isLimited
        ? warn(accountLimit.text, accountLimit.fix)
        : ok('its NATS account has no limit that would leave gaps in the log'),
    ];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [
      warn(error.message, 'commands and clients do not work from here until this is mended; hooks need only HTTP'),
    ];
  }
}

/** @param policies from `findPolicies` */
export function checkConfig({ warnings, filePath, fileText }: Config, policies: ReadonlyMap<string, unknown> | null) {
  const [first] = warnings;
  if (first !== undefined) return warn(first, `fix ${filePath}`);
  if (fileText !== null) return ok(`${filePath} can be read`);
  if (policies !== null && policies.size > 0)
    return ok(`there is no ${filePath}, but the service has policies: ${listNames([...policies.keys()])}`);
  return warn(
    `there is no ${filePath}; a service that was started in another folder has its own`,
    'without policies every stop is allowed: add some (docs/policies.md), or check the other file',
  );
}

/** The commands run here only if the service runs in this folder. Its PATH may differ from ours. */
export function checkPrograms({ file, filePath, store }: Config, env: Environment): Answer[] {
  if (store?.service == null) return [];
  return [...missingPrograms(file.commands, env)].map(([name, program]) =>
    warn(
      `command ${name}: there is no program '${program}' on PATH, so it cannot be run`,
      `install it, or change the command in ${filePath}`,
    ),
  );
}

/** There may be hundreds, so only a few are listed. */
const namesMax = 5;
const listNames = (names: readonly string[]): string =>
  [...names.slice(0, namesMax), ...(names.length > namesMax ? ['…'] : [])].join(', ');

function judgeReady(
  url: string,
  reply: Reply | string,
  token: string | null,
  { tlsCert }: Pick<Config, 'tlsCert'>,
): Answer {
  if (typeof reply === 'string')
    return bad(
      `${isCertificate(reply) ? `the certificate of ${url} is not trusted` : `nothing answers at ${url}`} (${reply}): no stop is judged`,
      remedyFor(url, reply, tlsCert),
    );
  if (readyReply(reply) !== null) return ok(`ready at ${url}`);
  if (reply.status === 401)
    return bad(
      token === null ? `${url} requires a token` : `${url} does not know this token`,
      'set STOPGATE_TOKEN to the token of the service, or to one of its tokens with the role agent',
    );
  const message = messageOf(reply);
  return message === undefined
    ? bad(
        `the program that answers at ${url} is not stopgate (status ${reply.status})`,
        'another program uses this port: choose one with --http',
      )
    : bad(`the service at ${url} is not ready: ${message}`, 'see its log');
}

const messageOf = ({ body }: Reply): string | undefined =>
  (body as { error?: { message?: string } } | null)?.error?.message;

/** Recognises our replies, because another program may answer 200 to every path. */
const isStopgate = (reply: Reply): boolean =>
  messageOf(reply) !== undefined || readySchema.safeParse(reply.body).success;

const readySchema = z.object({
  fleets: z.record(z.string(), z.object({ runnersMissing: z.array(z.string()).default([]) })),
});

/** @param body the reply of `/readyz` */
function checkRunners(body: unknown, fleet: string): Answer[] {
  const missing = readySchema.safeParse(body).data?.fleets[fleet]?.runnersMissing ?? [];
  const [first] = missing;
  if (first === undefined) return [];
  const runners = missing.length > 1 ? 'runners' : 'the runner';
  return [
    warn(
      `policies name ${runners} ${listNames(missing)}, which cannot be found (NATS micro): if a runner is not running, its checks end in an error`,
      `start it next to the workspace: stopgate runner --name ${first}`,
    ),
  ];
}

/** True for Node's TLS error codes. */
const isCertificate = (code: string): boolean => /CERT|UNABLE_TO_VERIFY/.test(code);

/** @param code the error code of the failed request */
function remedyFor(url: string, code: string, tlsCert: string | null): string {
  if (/UNABLE_TO_|SELF_SIGNED/.test(code))
    return `set NODE_EXTRA_CA_CERTS to its CA file${tlsCert === null ? '' : ` (or to ${tlsCert}, if it is self-signed)`}, also where the agent is started`;
  if (isCertificate(code)) return 'give the service a certificate that is valid for this address';
  if (url.startsWith('http:') && /UND_ERR_SOCKET|HPE_/.test(code))
    return `if it speaks HTTPS, pass --http ${url.replace('http:', 'https:')}`;
  if (/SSL/.test(code)) return `if it does not speak HTTPS, pass --http ${url.replace('https:', 'http:')}`;
  return 'start "stopgate dev" in this folder, or pass --http';
}

function checkClock(date: string | null): Answer {
  const skewMs = date === null ? Number.NaN : Date.parse(date) - Date.now();
  if (Number.isNaN(skewMs)) return skip('the service does not report its time');
  // The `Date` header has a resolution of one second.
  if (Math.abs(skewMs) <= skewMsMax) return ok('its clock and ours agree');
  const text = `its clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} ours`;
  return warn(text, 'idle times and limits use the clock of its NATS server: synchronise both clocks with NTP');
}
