/** backtest: folds the recorded sessions of agents under a policy, without a service and without any setup. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatIsoTime, type PolicySet } from '../../../../machines/index.ts';
import { findSessions } from '../../../backtest/find-sessions.ts';
import { judgeSession, type SeenTurns } from '../../../backtest/judge-session.ts';
import type { JudgedSession } from '../../../backtest/past-stop.ts';
import type { SessionFiles } from '../../../backtest/session-files.ts';
import { starterPolicy } from '../../../backtest/starter-policy.ts';
import { createSummary, type Summary } from '../../../backtest/summary.ts';
import { homeFolder } from '../../../config/environment.ts';
import { readConfigFile } from '../../../config/file-reader.ts';
import { AppError } from '../../../errors.ts';
import { clean } from '../../../terminal/text.ts';
import { escapeControls } from '../../../text/json-text.ts';
import { type Context, defineCommand, type Flags, flag, option, words } from '../../command.ts';
import { readLines } from '../../input.ts';
import { timeForms, toTime } from '../../option-values.ts';
import { readPolicyFile } from '../../policy-file.ts';
import { createProgress } from '../../progress.ts';
import { backtestLayout, formatIntroduction, formatSession, formatSummary } from '../../text/backtest-text.ts';

const args = {
  paths: words('PATH', 'transcripts, or folders of them (default: those of Claude Code and Codex of this user)'),
  policy: option('FILE', 'judge by the policies of this stopgate.yaml (default: ./stopgate.yaml, or a starter policy)'),
  since: option('TIME', `only stops since then: ${timeForms} (default without PATH: 7d)`, toTime),
  json: flag('print one JSON object'),
} as const;
type BacktestContext = Context<Flags<typeof args>>;

const defaultDays = 7;

/** `yaml` is the text of the starter policy. Null if the policies come from a file. */
export type UsedPolicy = { readonly file: string | null; readonly yaml: string | null; readonly policies: PolicySet };

export const backtest = defineCommand({
  args,
  details: [
    'Reads the transcripts of Claude Code (~/.claude/projects, or CLAUDE_CONFIG_DIR) and the rollouts of Codex (~/.codex/sessions, or CODEX_HOME), and judges every stop in them as a service would have done. Nothing is run, stored or sent, and no service is needed.',
    'Commands, files, git and remote checks cannot run on the past. A stop whose answer depends on such a check is not judged; it never counts as a pass.',
    'A session that was resumed, forked or compacted counts once. Damaged lines are skipped and counted.',
    'Exit code 0: done, whatever was found. 2: a path or the policy file cannot be used.',
  ],
  examples: [
    'stopgate backtest',
    'stopgate backtest --policy stricter.yaml --since 24h',
    'stopgate backtest ~/.claude/projects/-home-ann-api --json',
  ],
  run: async (context) => {
    const { flags, io, out } = context;
    const policy = await choosePolicy(context);
    const paths = flags.paths.length > 0 ? flags.paths.map((path) => resolve(io.cwd, path)) : usualFolders(io);
    const sinceMs = flags.since ?? (flags.paths.length > 0 ? 0 : Date.now() - defaultDays * 24 * 60 * 60 * 1_000);
    const read = (path: string) => readLines(path, io);
    const progress = createProgress(io);
    progress.show('looking for sessions');
    const found = await findSessions(flags.paths.length > 0 ? paths : paths.filter((path) => existsSync(path)), {
      sinceMs,
      readLines: read,
    });
    progress.clear();
    const seen: SeenTurns = new Map();
    const summing = createSummary(policy.policies);
    const judged = async function* () {
      for (const [index, files] of found.sessions.entries()) {
        if (out.closed.aborted) return;
        progress.show(`judged ${index} of ${found.sessions.length} sessions`);
        const session = await judge(files);
        progress.clear();
        // A session before --since whose file has changed since then.
        if (session.to !== null && Date.parse(session.to) < sinceMs) continue;
        // A copy of another session, or nothing but damaged lines.
        if (session.from === null && session.stops.length === 0 && session.damaged === 0) continue;
        summing.add(session);
        yield session;
      }
    };
    const judge = (files: SessionFiles) =>
      judgeSession(files, { policies: policy.policies, readLines: read, seen, sinceMs });
    const where = { paths, sinceMs, strange: found.strange };
    if (flags.json) await printJson(context, policy, where, judged(), summing.summary);
    else await printText(context, policy, where, judged(), summing.summary);
    return 0;
  },
});

type Where = { readonly paths: readonly string[]; readonly sinceMs: number; readonly strange: readonly string[] };

async function choosePolicy(context: BacktestContext): Promise<UsedPolicy> {
  const { flags, io, note } = context;
  if (flags.policy !== undefined) {
    const policies = await readPolicyFile(flags.policy, context);
    if (policies === undefined)
      throw new AppError('input.bad', `'${flags.policy}' has no policies; add some, or omit --policy`);
    return { file: flags.policy, yaml: null, policies };
  }
  const usual = 'stopgate.yaml';
  if (existsSync(join(io.cwd, usual))) {
    const policies = await readPolicyFile(usual, context);
    if (policies !== undefined) return { file: usual, yaml: null, policies };
    note(`stopgate: '${usual}' has no policies, so the starter policy applies`);
  }
  const read = readConfigFile(starterPolicy, 'starter');
  if (!read.ok) throw new Error('the starter policy is not valid');
  return { file: null, yaml: starterPolicy, policies: read.file.policySet };
}

/** Returns the folders in which the agents keep their sessions. */
function usualFolders({ env }: BacktestContext['io']): string[] {
  const home = homeFolder(env);
  const claude = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const codex = env.CODEX_HOME || join(home, '.codex');
  return [join(claude, 'projects'), join(codex, 'sessions')];
}

/** Writes each session as soon as it is judged, so that memory does not grow with the number of sessions. */
async function printJson(
  { out }: BacktestContext,
  { file, yaml }: UsedPolicy,
  { paths, sinceMs, strange }: Where,
  sessions: AsyncIterable<JudgedSession>,
  summary: () => Summary,
): Promise<void> {
  const write = (text: string) => out.write(escapeControls(text));
  const head = { policy: { file, yaml }, paths, since: sinceMs === 0 ? null : formatIsoTime(sinceMs) };
  await write(`${JSON.stringify(head).slice(0, -1)},"sessions":[`);
  let separator = '';
  for await (const { fired: _, ...session } of sessions) {
    await write(separator + JSON.stringify(session));
    separator = ',';
  }
  await write(`],"summary":${JSON.stringify(summary())},"otherFiles":${JSON.stringify(strange)}}\n`);
}

async function printText(
  { flags, out, note, asTyped }: BacktestContext,
  { file, yaml }: UsedPolicy,
  { paths, sinceMs, strange }: Where,
  sessions: AsyncIterable<JudgedSession>,
  summary: () => Summary,
): Promise<void> {
  const layout = backtestLayout(out.width(), out.colors);
  let isFirst = true;
  for await (const session of sessions) {
    if (isFirst) await out.print(...formatIntroduction(file, yaml, layout));
    isFirst = false;
    await out.print(formatSession(session, layout));
  }
  if (strange.length === 1) note(`stopgate: '${strange[0]}' is not a transcript of Claude Code or Codex`);
  if (strange.length > 1)
    note(`stopgate: ${strange.length} files are not transcripts of Claude Code or Codex, such as '${strange[0]}'`);
  if (isFirst) {
    const isDefault = flags.paths.length === 0 && flags.since === undefined;
    const when = isDefault ? ' of the last 7 days' : sinceMs === 0 ? '' : ` since ${formatIsoTime(sinceMs)}`;
    await out.print(`No sessions${when} in ${paths.map(clean).join(', ')}.`);
    if (sinceMs !== 0) await out.print(asTyped('Look further back: stopgate backtest --since 90d'));
    return;
  }
  await out.print(...formatSummary(summary(), layout).map(asTyped));
}
