/**
 * Asks the service about a session in this folder, with the token of its hooks: whether it may call, whose service
 * answers, whether checks can read the folder, and which policy judges the session.
 */
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../config/values.ts';
import { type Answer, bad, type Checks, ok, runChecks, skip, warn } from './doctor.ts';
import { askHttp, type Reply, type Session } from './session.ts';

const reportSchema = z.object({
  user: z.string(),
  file: z.string(),
  folderFault: z.string().nullable(),
  policy: z.object({
    name: z.string(),
    checks: z.number(),
    looksIntoFolder: z.array(z.string()),
    runners: z.array(z.string()),
  }),
});
type SessionReport = z.output<typeof reportSchema>;

/** @param http the address of a service that answers */
export async function checkSession(http: string, session: Session, config: Config): Promise<Answer[]> {
  const reply = await askAboutSession(http, session, session.token);
  if (typeof reply === 'string') return [skip(`the service does not answer about this folder (${reply})`)];
  const report = reportSchema.safeParse(reply.body);
  if (reply.status === 200 && report.success) return runChecks(sessionChecks, { session, report: report.data, config });
  return [describeRefusal(session, reply)];
}

type SessionSubject = { readonly session: Session; readonly report: SessionReport; readonly config: Config };

const sessionChecks: Checks<SessionSubject> = {
  owner: ({ session, report, config }) => checkOwner(session, report, config),
  folder: ({ session, report }) => checkFolder(session, report),
  policy: ({ report, config }) => checkPolicy(report, config),
};

/** For a folder without connected agents. Warns if another folder's or another user's service answers. */
export async function checkOwnService(http: string, cwd: string, config: Config): Promise<Answer[]> {
  const session = { agent: 'claude', cwd, policy: null, fleet: null };
  const reply = await askAboutSession(http, session, config.token);
  const report = typeof reply === 'string' ? null : reportSchema.safeParse(reply.body);
  if (!report?.success) return [];
  return checkOwner({ agent: 'service', cwd }, report.data, config).filter(({ state }) => state !== 'ok');
}

/** Resolves to the problem with the token that a hook sent, or to null. */
export async function refusalOf(http: string, session: Session, token: string | null): Promise<Answer | null> {
  if (token === null)
    return bad('its hook sent no token', `stopgate init ${session.agent} --token-env ${session.tokenEnv}`);
  const reply = await askAboutSession(http, session, token);
  return typeof reply === 'string' || reply.status === 200 ? null : describeRefusal({ ...session, token }, reply);
}

type SessionQuery = Pick<Session, 'agent' | 'cwd' | 'policy' | 'fleet'>;

function askAboutSession(http: string, { agent, cwd, policy, fleet }: SessionQuery, token: string | null) {
  const query = new URLSearchParams({
    cwd,
    ...(policy === null ? {} : { policy }),
    ...(fleet === null ? {} : { fleet }),
  });
  return askHttp(`${http}/hooks/${agent}/place?${query}`, token);
}

function describeRefusal({ tokenEnv, token, fleet }: Session, { status, body }: Reply): Answer {
  const message = (body as { error?: { message?: string } } | null)?.error?.message ?? `status ${status}`;
  const unjudged = 'so no stop is judged';
  if (status === 401)
    return token === null
      ? bad(
          `the service requires a token, but ${tokenEnv} is not set here, ${unjudged}`,
          `set ${tokenEnv}, also where the agent is started`,
        )
      : bad(`the service does not know the token in ${tokenEnv}, ${unjudged}`, 'set it to a token with the role agent');
  if (status === 403)
    return bad(
      `the token in ${tokenEnv} lacks the rights of a hook (${message}), ${unjudged}`,
      'use a token with the role agent',
    );
  return bad(
    `the service rejects this agent's calls: ${message}`,
    status === 404 && fleet !== null ? 'pass a fleet that it serves with --fleet' : 'see its log',
  );
}

/** Checks only a service on this machine, because paths and users elsewhere are not comparable. */
function checkOwner(
  { agent, cwd }: Pick<Session, 'agent' | 'cwd'>,
  { file, user }: SessionReport,
  { http, filePath, fileText }: Config,
): Answer[] {
  const here = `the service was started in ${dirname(file)} by ${user}`;
  if (http === null || !isLoopback(http.host)) return [ok(here)];
  if (fileText !== null && filePath !== file)
    return [
      warn(
        `${here}: it applies the rules of ${file}, and ${filePath} has no effect`,
        `start "stopgate dev" in ${dirname(filePath)}, then: stopgate init ${agent === 'service' ? 'AGENT' : agent}`,
      ),
    ];
  if (user !== userInfo().username)
    return [warn(`${here}: another user decides what is checked`, 'start your own service in this folder')];
  return [ok(`${here}${dirname(file) === cwd ? '' : ', not in this folder'}`)];
}

function checkFolder({ agent, cwd }: Session, { file, folderFault, policy }: SessionReport): Answer {
  const { looksIntoFolder, runners } = policy;
  if (runners.length > 0 && looksIntoFolder.length > 0)
    return ok(`${cwd} is checked by the runner ${runners.join(' or ')}, which has its own roots`);
  if (folderFault === null) return ok(`${cwd} is inside the roots of the service`);
  if (looksIntoFolder.length === 0)
    return ok(`${cwd} is outside the roots of the service, but no check of its policy uses it`);
  return bad(
    `${folderFault}: ${looksIntoFolder.join(', ')} cannot be judged in any session here`,
    `add this folder to roots: in ${file}, or start "stopgate dev" here, then: stopgate init ${agent}`,
  );
}

function checkPolicy({ file, policy }: SessionReport, { filePath, fileText }: Config): Answer {
  const { name, checks } = policy;
  if (checks > 0) return ok(`its sessions get the policy ${name}, with ${checks} check${checks === 1 ? '' : 's'}`);
  const where = fileText === null ? file : filePath;
  const text = `its sessions get the policy ${name}, which checks nothing: every stop is allowed (cause no-policy)`;
  return warn(text, `add checks to it in ${where} (docs/policies.md)`);
}
