/** Whether the sessions that `init` has connected will be judged: asked of the service, with the token of the hooks. */
import type { Finding } from '../../../agents/doctor/finding.ts';
import { checkPlace } from '../../../agents/doctor/place-checks.ts';
import { checkAnswer } from '../../../agents/doctor/service-checks.ts';
import type { Line } from '../../../agents/setup/line.ts';
import type { Config } from '../../../config/config.ts';
import type { Io } from '../../../terminal/process-io.ts';

/** Returns what is wrong, or not as one may expect. The list is also empty if no service answers yet. */
export async function judgeSession(
  agent: string,
  { http, policy, fleet, tokenEnv = 'STOPGATE_TOKEN' }: Line,
  config: Config,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<readonly Finding[]> {
  const names = { policy: policy ?? null, fleet: fleet ?? null };
  const session = { agent, cwd, ...names, tokenEnv, token: env[tokenEnv] || null };
  const findings = (await checkAnswer(http, session.token, config)) ?? (await checkPlace(http, session, config));
  return findings.filter(({ state }) => state === 'bad' || state === 'warn');
}

/** @returns the exit code: 1 where no stop will be judged as it is meant */
export function reportFindings(findings: readonly Finding[], note: (text: string) => void): number {
  for (const { state, text, fix } of findings) note(`${state === 'bad' ? '✗' : '!'} ${text} → ${fix}`);
  return findings.some(({ state }) => state === 'bad') ? 1 : 0;
}
