/**
 * Statistics of a fleet, counted from its log: what became of the stops, what blocked them, how long checks took and
 * people needed. A fold of its own beside that of the state: it needs no state, so a log whose beginning was cut is
 * counted from there. Pure; what it keeps is bounded by the buckets (buckets.ts) and by the limits below.
 */
import { type CheckResult, type Decision, decidingGuard, readJson, topicOf } from '../../../machines/index.ts';
import type { FleetStatistics } from '../messages.ts';
import { verdictKindOf } from '../verdict-kind.ts';
import { addBlock, addResolved, checkIn, createBuckets, type Span } from './buckets.ts';
import { addDuration } from './durations.ts';
import { createFlakiness } from './flakiness.ts';
import { summarize } from './summary.ts';

/** `text` is read only where it counts. */
export type CountedEntry = { readonly atMs: number; readonly subject: string; readonly text: () => string };
export type Statistics = {
  fold(entry: CountedEntry): void;
  view(span: Span, nowMs: number, knownFromMs: number | null): FleetStatistics;
};

/** More people cannot answer. Of the oldest nobody learns how long they took. */
const escalationsMax = 10_000;

/** They end an escalation: the worker goes on, or has ended. */
const endings: ReadonlySet<string> = new Set(['escalation.resolved', 'prompt.submitted', 'worker.retired']);

export function createStatistics(): Statistics {
  const buckets = createBuckets();
  const flakiness = createFlakiness();
  /** Since when, by what is escalated. */
  const escalated = new Map<string, number>();

  const begin = (key: string, atMs: number) => {
    if (escalated.has(key)) return;
    escalated.set(key, atMs);
    if (escalated.size > escalationsMax) escalated.delete(escalated.keys().next().value as string);
    buckets.at(atMs, (bucket) => {
      bucket.escalations += 1;
    });
  };
  const end = (key: string, atMs: number) => {
    const sinceMs = escalated.get(key);
    if (sinceMs === undefined) return;
    escalated.delete(key);
    buckets.at(atMs, (bucket) => addResolved(bucket, Math.max(0, atMs - sinceMs)));
  };
  const decided = (key: string, atMs: number, decision: Decision) => {
    if (decision.cause === 'superseded' || decision.dryRun === true) return;
    const kind = verdictKindOf(decision);
    const guard = decidingGuard(decision);
    buckets.at(atMs, (bucket) => {
      bucket.verdicts[kind] += 1;
      if (decision.decision === 'block')
        addBlock(
          bucket,
          guard ?? 'policy',
          decision.feedback.filter(({ outcome }) => outcome !== 'warn').map(({ check }) => check),
        );
    });
    if (kind === 'escalated') begin(key, atMs);
    else end(key, atMs);
  };
  const checked = (worker: string, atMs: number, { check, outcome, tookMs = 0 }: CheckResult) => {
    const isJudged = outcome === 'pass' || outcome === 'fail';
    const pair = isJudged ? flakiness.result(worker, check, outcome === 'pass') : null;
    buckets.at(atMs, (bucket) => {
      bucket.checkMs += tookMs;
      const counts = checkIn(bucket, check);
      counts.runs += 1;
      if (outcome === 'pass') counts.passed += 1;
      else if (outcome === 'fail') counts.failed += 1;
      else counts.errors += 1;
      addDuration(counts.durations, tookMs);
      if (pair !== null) counts.compared += 1;
      if (pair?.differs === true) counts.differing += 1;
    });
  };
  return {
    fold({ atMs, subject, text }) {
      const { entity, id, type } = topicOf(subject);
      const key = `${entity}/${id}`;
      const isOwn = subject.split('.', 3)[2] !== entity;
      if (type === 'decision') readAs<Decision>(text, isDecision, (it) => decided(key, atMs, it));
      else if (type === 'check.finished' && entity === 'worker')
        readAs<CheckResult>(text, isCheckResult, (it) => checked(id, atMs, it));
      // A worker that nobody heard of for long is escalated without a decision; its first notice shows it.
      else if (type === 'escalation.notified') begin(key, atMs);
      else if (endings.has(type)) end(key, atMs);
      if (entity === 'worker' && !isOwn) flakiness.worked(id, type);
    },
    view: (span, nowMs, knownFromMs) => summarize(buckets.of(span, nowMs), span, nowMs, knownFromMs),
  };
}

/** What is not as it should be is not counted. */
function readAs<Data>(text: () => string, isIt: (value: object) => boolean, count: (data: Data) => void): void {
  const read = readJson(text());
  if (read.ok && isIt(read.value)) count(read.value as Data);
}

const isDecision = (value: object): boolean => {
  const { decision, feedback, verdicts } = value as Partial<Decision>;
  return (decision === 'allow' || decision === 'block') && Array.isArray(feedback) && Array.isArray(verdicts);
};
const isCheckResult = (value: object): boolean => {
  const { check, outcome, tookMs } = value as Partial<CheckResult>;
  const isTime = tookMs === undefined || (typeof tookMs === 'number' && tookMs >= 0);
  return typeof check === 'string' && typeof outcome === 'string' && isTime;
};
