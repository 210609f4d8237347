/** Examines the service and the settings of agents, for `doctor` and `up`. */

import {
  type Answer,
  bad,
  type CheckContext,
  type Finding,
  findingsAbout,
  skip,
  type TokenPass,
} from '../../../agents/doctor/doctor.ts';
import { checkConfig, checkPrograms, checkService, type ServiceState } from '../../../agents/doctor/service-checks.ts';
import { readSession, type Session } from '../../../agents/doctor/session.ts';
import { checkOwnService, checkSession, refusalOf } from '../../../agents/doctor/session-checks.ts';
import { checkWorkers, findPolicies } from '../../../agents/doctor/worker-checks.ts';
import { type Agent, agents } from '../../../agents/index.ts';
import { findProgram, type LocalContext } from '../../../agents/setup/local-context.ts';
import { type Config, loadConfig } from '../../../config/config.ts';
import { homeFolder } from '../../../config/environment.ts';
import { withholdSecrets } from '../../../config/own-address.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { formatAgo } from '../../text/state-text.ts';

export type DiagnosisRequest = {
  /** Examine only this agent, with a dry turn. Default: every connected agent. */
  readonly agent: string | undefined;
  readonly http: string | undefined;
  /** The context to use, by its name. */
  readonly named?: string | undefined;
  readonly fleet: string | undefined;
  /** The path of stopgate.yaml. */
  readonly config: string | undefined;
  /** Skip the dry turn. */
  readonly quick: boolean;
  /** The agent was connected just now, so no session can have called. Default: false. */
  readonly isFirst?: boolean;
};

/** @param signal ends a dry turn */
export async function diagnose(
  { agent, http, fleet, named, config: configFile, quick, isFirst = false }: DiagnosisRequest,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const places: LocalContext = { cwd, home: homeFolder(env), env };
  const loaded = await loadConfig({ flags: { http, fleet, config: configFile }, cwd, env, contexts: { named } });
  // An untrusted checkout may name any server, so its configuration does not get the token.
  const config = withholdSecrets(loaded);
  const service = await checkService(config, { nodeVersion: process.version, env }, config.token !== loaded.token);
  const known = await findPolicies(config, service.http);
  const [policies, dayBudget] = [known?.policies ?? null, known?.budget ?? null];
  const examination = {
    places,
    config,
    service,
    policies,
    dayBudget,
    isNamed: agent !== undefined,
    quick,
    isFirst,
    signal,
  };
  const found = findingsAbout('service', [
    ...service.answers,
    checkConfig(config, policies),
    ...checkPrograms(config, env),
  ]);
  let isConnected = false;
  for (const each of agents.values()) {
    if (agent !== undefined && agent !== each.name) continue;
    const result = await examine(each, examination);
    found.push(...findingsAbout(each.name, result.answers));
    isConnected ||= result.isConnected;
  }
  // For a connected agent, a finding already says which service judges its sessions.
  if (!isConnected && service.http !== null)
    found.push(...findingsAbout('service', await checkOwnService(service.http, cwd, config)));
  if (!isConnected)
    found.push(...findingsAbout('agents', [bad('no agent is connected to stopgate', 'stopgate init AGENT')]));
  return found;
}

type Examination = {
  readonly places: LocalContext;
  readonly config: Config;
  readonly service: ServiceState;
  readonly policies: CheckContext['policies'];
  readonly dayBudget: CheckContext['dayBudget'];
  /** The user named the agent. */
  readonly isNamed: boolean;
  readonly quick: boolean;
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
};

async function examine(
  { name, title, settings }: Agent,
  examination: Examination,
): Promise<{ answers: readonly Answer[]; isConnected: boolean }> {
  const { places, config, service, policies, dayBudget, isNamed, quick, isFirst, signal } = examination;
  const { setup, doctor } = await settings();
  if (doctor === undefined || setup.kind !== 'settings') return { answers: [], isConnected: false };
  const { program } = setup;
  const binary = findProgram(program.binary, places.env);
  const { scopes, problems, lines, check, dryTurn } = doctor.find(places);
  if (!isNamed && scopes.length === 0 && problems.length === 0) {
    const hint = skip(`${title} is installed but not connected: stopgate init ${name}`);
    return { answers: binary === null ? [] : [hint], isConnected: false };
  }
  const { needsToken } = service;
  const context = { agent: { name, title, program }, binary, places, url: config.http?.url ?? '', needsToken };
  const runsDryTurn = isNamed && !quick && dryTurn !== null;
  const answers = [...problems, ...(await check({ ...context, policies, dayBudget, runsDryTurn }))];
  const read = readSession(name, lines, places);
  // Hooks do not send their token to an address found in a file, so the doctor does not either.
  const session = config.httpIsFound ? { ...read, token: null } : read;
  if (service.http !== null && lines.length > 0) answers.push(...(await checkSession(service.http, session, config)));
  if (!isFirst) answers.push(...(await askWorkers(name, scopes, examination)));
  if (isNamed && !quick) {
    const path = places.env.PATH ?? '';
    if (dryTurn === null) answers.push(skip('dry turn: not available for this agent'));
    else if (binary !== null) answers.push(await dryTurn({ binary, path, pass: passOf(session, service), signal }));
    else answers.push(bad(`dry turn: not run, because ${program.binary} is not on PATH`, missingProgramFix));
  }
  return { answers, isConnected: true };
}

/** Returns null if the service needs no token or does not answer, or if no token is set. */
function passOf(session: Session, { http, needsToken }: ServiceState): TokenPass | null {
  const { tokenEnv, token } = session;
  if (http === null || !needsToken || token === null) return null;
  return { variable: tokenEnv, value: token, refusalOf: (sent) => refusalOf(http, session, sent) };
}

/** A missing program is a problem, because the user asked whether a block works and that is still unknown. */
const missingProgramFix = 'install it, or put it on PATH; --quick checks the settings alone';

async function askWorkers(
  agent: string,
  scopes: readonly string[],
  { places: { cwd }, config: { fleet, token }, service: { http } }: Examination,
): Promise<Answer[]> {
  if (http === null) return [];
  return [await checkWorkers({ http, fleet, token, agent, cwd, scopes, ago: formatAgo })];
}
