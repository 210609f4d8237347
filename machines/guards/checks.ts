/** Guard `checks`: every check of the policy must pass. Checks with effects are awaited: an entry answers them. */
import { checkTimeoutMs } from '../policy/checks/check.ts';
import { evaluateChecks, unreached } from '../policy/checks/evaluate.ts';
import { awaitedSince } from './awaited-check.ts';
import { circumstancesOf } from './circumstances.ts';
import { allow, block, constantPass, type Guard, sharedVerdict } from './guard.ts';
import { promptFor } from './prompt.ts';

export const checks: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { checks: policyChecks, failures } = attempt.inForce.policy;
  if (policyChecks.length === 0) return none;
  const input = { checks: policyChecks.map((check) => check.name) };
  const { plan, commands, lastChange, promptedSeq, claimedSeq } = worker;
  const { validation = [] } = attempt.fields;
  const circumstances = circumstancesOf(scope, attempt.facts.tasks.at(-1));
  const facts = { ...circumstances, plan, validation, commands, lastChange, promptedSeq, claimedSeq };
  const { outcome, findings, feedback } = evaluateChecks(policyChecks, facts, attempt.findings, failures);
  const kept = { findings, feedback };
  const warnings = feedback.filter((item) => item.outcome === 'warn').length;
  const withNotRun = () => {
    const notRun = unreached(policyChecks, findings);
    return notRun.length === 0 ? input : { ...input, notRun };
  };
  switch (outcome.kind) {
    case 'pass':
      if (warnings > 0)
        return { kind: 'pass', detail: warnings === 1 ? '1 warning' : `${warnings} warnings`, input, kept };
      return { kind: 'pass', detail: allHold.detail, input, kept, verdict: allHold };
    case 'error':
      return { kind: 'pass', detail: outcome.message, input, kept, isError: true };
    case 'escalate': {
      const ruling = allow('escalate', 'escalated', outcome.message);
      return { kind: 'decides', detail: outcome.message, input: withNotRun(), kept, isError: true, ruling };
    }
    case 'fail': {
      const ruling = block('incomplete', outcome.message, promptFor(outcome.message, feedback));
      const { messages: reasons = [outcome.message] } = outcome;
      return { kind: 'decides', detail: outcome.message, input: withNotRun(), kept, ruling, reasons };
    }
    case 'awaits': {
      const { check } = outcome;
      const waiting = awaitedSince(attempt, {
        name: check.name,
        timeoutMs: check.timeoutMs ?? checkTimeoutMs,
        onRunner: check.kind !== 'remote',
      });
      const awaited = { by: 'checks', check, ...waiting } as const;
      return { kind: 'awaits', detail: `asked ${check.name}`, input, kept, check: awaited };
    }
  }
};

const none = constantPass('checks', 'none', { checks: [] });
const allHold = sharedVerdict('checks', 'all hold');
