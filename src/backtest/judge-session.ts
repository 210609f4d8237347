/** Folds one recorded session, with its sub-agents, under the policies, and collects its stops. */
import { formatIsoTime, type PolicySet } from '../../machines/index.ts';
import { agents, createHookCallHandler, toId } from '../agents/index.ts';
import type { RecordedFields, RecordedStep } from '../agents/recording.ts';
import { AppError } from '../errors.ts';
import { setNewest } from '../set-newest.ts';
import { createPastService } from './past-service.ts';
import type { JudgedSession, JudgedStop, PastStop, StopOutcome } from './past-stop.ts';
import { readSteps, type StepCounts } from './read-steps.ts';
import type { ReadLines, SessionFiles } from './session-files.ts';

/**
 * The file in which each turn was first seen, by turn. Turns that a fork has copied from an earlier session do not
 * count again. An id takes about 100 bytes, so the limit is about 20 MiB. Beyond it, copies of the oldest turns count
 * again.
 */
export type SeenTurns = Map<string, string>;
const turnsMax = 200_000;

const promptCharsMax = 200;

export type JudgeOptions = {
  readonly policies: PolicySet;
  readonly readLines: ReadLines;
  readonly seen: SeenTurns;
  /** Earlier stops are folded, but not reported. */
  readonly sinceMs: number;
};

export async function judgeSession(
  files: SessionFiles,
  { policies, readLines, seen, sinceMs }: JudgeOptions,
): Promise<JudgedSession> {
  const { agent: name, session } = files;
  const agent = agents.get(name);
  if (agent === undefined) throw new Error(`no agent ${name}`);
  const service = createPastService(policies);
  const handle = createHookCallHandler(service, { links: noLinks });
  const counts: StepCounts = { damaged: 0 };
  const stops: JudgedStop[] = [];
  const fired = new Set<string>();
  const found = { cwd: null as string | null, prompt: null as string | null, refused: 0, hasDollars: false };
  const needDollars = new Set<JudgedStop>();
  let fromMs: number | null = null;
  let toMs: number | null = null;

  for await (const { step, file } of readSteps(files, readLines, counts)) {
    if (isCopy(seen, step, file)) continue;
    const { atMs } = step;
    service.setTime(atMs);
    if (atMs !== null) {
      fromMs = Math.min(fromMs ?? atMs, atMs);
      toMs = Math.max(toMs ?? atMs, atMs);
    }
    try {
      if (step.kind === 'usage') {
        found.hasDollars ||= step.report.usd !== undefined;
        service.add(`worker.${toId(step.worker)}.usage.reported`, { ...step.report, source: 'transcript' });
        continue;
      }
      found.cwd ??= typeof step.body.cwd === 'string' ? step.body.cwd : null;
      await handle(agent.readHook(step.body), step.key === '' ? {} : { key: toId(step.key) });
    } catch (error) {
      // The service would have refused this call, and the agent would have continued.
      if (!(error instanceof AppError)) throw error;
      found.refused += 1;
      continue;
    }
    for (const entry of service.takeEntries()) {
      if (entry.area !== 'worker' || entry.type !== 'prompt.submitted' || entry.data.by !== undefined) continue;
      const prompt = (entry.data.text ?? '').slice(0, promptCharsMax);
      found.prompt ??= prompt;
      notePrompt(stops, atMs, prompt);
    }
    const stop = service.takeStop();
    if (stop === null) continue;
    for (const check of firedIn(stop)) fired.add(check);
    if (atMs !== null && atMs < sinceMs) continue;
    const judged = toStop(stop, step.body, atMs);
    const before = stops.findLast(({ worker }) => worker === judged.worker);
    if (before !== undefined && before.next === null) before.again = true;
    stops.push(judged);
    if (stop.needsDollars) needDollars.add(judged);
  }
  return {
    agent: name,
    session,
    file: files.file,
    cwd: found.cwd,
    prompt: found.prompt,
    refused: found.refused,
    from: fromMs === null ? null : formatIsoTime(fromMs),
    to: toMs === null ? null : formatIsoTime(toMs),
    // Transcripts may have their dollars at the end, so only now it is known that there are none.
    stops: found.hasDollars ? stops : stops.map((stop) => (needDollars.has(stop) ? withoutDollars(stop) : stop)),
    damaged: counts.damaged,
    fired: [...fired],
  };
}

/** Links are not resolved, because the files may have changed or be gone. */
const noLinks = (paths: ReadonlySet<string>) => Promise.resolve(new Map([...paths].map((path) => [path, path])));

function isCopy(seen: SeenTurns, { turn }: RecordedStep, file: string): boolean {
  if (turn === null) return false;
  const first = seen.get(turn);
  if (first === undefined) setNewest(seen, turn, file, turnsMax);
  return first !== undefined && first !== file;
}

/** A person's prompt after a stop that would have been blocked shows what the missing block cost. */
function notePrompt(stops: readonly JudgedStop[], atMs: number | null, prompt: string): void {
  for (const stop of stops) {
    if (stop.outcome !== 'blocked' || stop.subagent !== null || stop.again || stop.next !== null || atMs === null)
      continue;
    stop.next = { at: formatIsoTime(atMs), afterMs: Math.max(0, atMs - Date.parse(stop.at)), prompt };
  }
}

function toStop(stop: PastStop, body: RecordedFields, atMs: number | null): JudgedStop {
  const { decision, policy, missing, isJudged } = stop;
  const outcome = outcomeOf(stop);
  const subagent = typeof body.agent_type === 'string' ? body.agent_type : null;
  return {
    attempt: decision.attempt ?? '',
    at: atMs === null ? decision.at : formatIsoTime(atMs),
    worker: decision.worker,
    subagent,
    outcome,
    policy,
    by: outcome === 'blocked' || outcome === 'escalated' ? namesOf(stop) : [],
    cause: decision.cause,
    reason: outcome === 'unjudged' && missing.length > 0 ? '' : decision.reason,
    missing: isJudged ? [] : missing,
    again: false,
    next: null,
  };
}

/** Nobody knows whether a budget in dollars was used up, so the stop is not judged. */
const withoutDollars = (stop: JudgedStop): JudgedStop => ({
  ...stop,
  outcome: 'unjudged',
  by: [],
  reason: '',
  missing: [...stop.missing, 'budget: usd'],
  next: null,
});

function outcomeOf({ decision, isJudged }: PastStop): StopOutcome {
  if (!isJudged || decision.cause === 'unjudged') return 'unjudged';
  if (decision.action === 'escalate') return 'escalated';
  return decision.decision === 'block' ? 'blocked' : 'allowed';
}

function namesOf({ decision: { feedback, verdicts } }: PastStop): string[] {
  const failed = feedback.filter(({ outcome }) => outcome === 'fail').map(({ check }) => check);
  if (failed.length > 0) return [...new Set(failed)];
  return [verdicts.at(-1)?.guard ?? 'policy'];
}

const firedIn = ({ decision: { feedback }, policy, missing }: PastStop): string[] =>
  feedback.filter(({ check }) => !missing.includes(check)).map(({ check }) => `${policy}/${check}`);
