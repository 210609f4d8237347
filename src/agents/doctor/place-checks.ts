/**
 * Reports what the service says of a session in this folder, to whoever has the token of its hooks: may it call, whose
 * service is this, can its checks look into the folder, and which policy judges the session?
 */
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../config/values.ts';
import { type Answer, bad, type Checks, ok, runChecks, skip, warn } from './doctor.ts';
import { askHttp, type Reply, type Session } from './session.ts';

const placeSchema = z.object({
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
type Place = z.output<typeof placeSchema>;

/** @param http the address of a service that answers */
export async function checkPlace(http: string, session: Session, config: Config): Promise<Answer[]> {
  const reply = await askPlace(http, session, session.token);
  if (typeof reply === 'string') return [skip(`the service does not say where it judges (${reply})`)];
  const place = placeSchema.safeParse(reply.body);
  if (reply.status === 200 && place.success) return runChecks(placeChecks, { session, place: place.data, config });
  return [describeRefusal(session, reply)];
}

type PlaceSubject = { readonly session: Session; readonly place: Place; readonly config: Config };

const placeChecks: Checks<PlaceSubject> = {
  owner: ({ session, place, config }) => checkOwner(session, place, config),
  folder: ({ session, place }) => checkFolder(session, place),
  policy: ({ place, config }) => checkPolicy(place, config),
};

/** For a folder of which no agent asks yet. Empty: the service that answers is its own, or does not say. */
export async function checkOwnService(http: string, cwd: string, config: Config): Promise<Answer[]> {
  const session = { agent: 'claude', cwd, policy: null, fleet: null };
  const reply = await askPlace(http, session, config.token);
  const place = typeof reply === 'string' ? null : placeSchema.safeParse(reply.body);
  if (!place?.success) return [];
  return checkOwner({ agent: 'service', cwd }, place.data, config).filter(({ state }) => state !== 'ok');
}

/** Resolves to what is wrong with the token that a hook has sent; null if nothing is. */
export async function refusalOf(http: string, session: Session, token: string | null): Promise<Answer | null> {
  if (token === null)
    return bad('its hook sent no token', `stopgate init ${session.agent} --token-env ${session.tokenEnv}`);
  const reply = await askPlace(http, session, token);
  return typeof reply === 'string' || reply.status === 200 ? null : describeRefusal({ ...session, token }, reply);
}

type Asked = Pick<Session, 'agent' | 'cwd' | 'policy' | 'fleet'>;

function askPlace(http: string, { agent, cwd, policy, fleet }: Asked, token: string | null) {
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
          `the service wants a token, and ${tokenEnv} is not set here: ${unjudged}`,
          `set ${tokenEnv}, also where the agent is started`,
        )
      : bad(`the service does not know the token in ${tokenEnv}: ${unjudged}`, 'set it to one with the role agent');
  if (status === 403)
    return bad(
      `the token in ${tokenEnv} may not do what a hook does: ${message}; ${unjudged}`,
      'use a token with the role agent',
    );
  return bad(
    `the service refuses the calls of this agent: ${message}`,
    status === 404 && fleet !== null ? 'name a fleet that it serves, with --fleet' : 'see its log',
  );
}

/** Checks a service on this machine alone: elsewhere folders and users have other names. */
function checkOwner(
  { agent, cwd }: Pick<Session, 'agent' | 'cwd'>,
  { file, user }: Place,
  { http, filePath, fileText }: Config,
): Answer[] {
  const here = `the service that answers is that of ${dirname(file)}, run by ${user}`;
  if (http === null || !isLoopback(http.host)) return [ok(here)];
  const [other, elsewhere] = [user !== userInfo().username, fileText !== null && filePath !== file];
  if (elsewhere)
    return [
      warn(
        `${here}: its rules are those of ${file}, and those of ${filePath} judge nothing`,
        `start "stopgate dev" in ${dirname(filePath)}, then: stopgate init ${agent === 'service' ? 'AGENT' : agent}`,
      ),
    ];
  if (other) return [warn(`${here}: another user, who decides what is checked`, 'start your own in this folder')];
  return [ok(`${here}${dirname(file) === cwd ? '' : ', not of this folder'}`)];
}

function checkFolder({ agent, cwd }: Session, { file, folderFault, policy }: Place): Answer {
  const { looksIntoFolder, runners } = policy;
  if (runners.length > 0 && looksIntoFolder.length > 0)
    return ok(`${cwd} is looked into by the runner ${runners.join(' or ')}, which has roots of its own`);
  if (folderFault === null) return ok(`${cwd} is within the roots of the service`);
  if (looksIntoFolder.length === 0)
    return ok(`${cwd} is outside the roots of the service, and no check of its policy looks there`);
  return bad(
    `${folderFault}: ${looksIntoFolder.join(', ')} cannot be judged in any session here`,
    `name this folder under roots: in ${file}, or start "stopgate dev" here, then: stopgate init ${agent}`,
  );
}

function checkPolicy({ file, policy }: Place, { filePath, fileText }: Config): Answer {
  const { name, checks } = policy;
  if (checks > 0) return ok(`its sessions get the policy ${name}, with ${checks} check${checks === 1 ? '' : 's'}`);
  const where = fileText === null ? file : filePath;
  const text = `its sessions get the policy ${name}, which checks nothing: every stop is allowed, as no-policy`;
  return warn(text, `add checks to it in ${where} (docs/policies.md)`);
}
