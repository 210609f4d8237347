/** The seed's own example hooks, which both tiers of tests register. */
import type { AgentContext, StopHookResult } from '../../../src/client/index.ts';

/** `registerStopHook`, its example. */
export function customLogic(context: AgentContext): StopHookResult {
  // Custom decision logic
  if (context.iteration > 10) {
    return {
      action: 'escalate',
      reason: 'Too many iterations - may need different approach',
    };
  }

  if (context.filesModified.length === 0) {
    return {
      action: 'continue',
      reason: 'No files modified yet',
    };
  }

  return {
    action: 'complete',
    reason: 'Custom completion criteria met',
  };
}

/** Common Patterns: TDD Loop Hook. */
export function tddLoop(context: AgentContext): StopHookResult {
  // Check if tests pass
  const testsPass = context.validationResults.find((r) => r.ruleName === 'tests_pass')?.passed;

  if (testsPass) {
    return {
      action: 'complete',
      reason: 'All tests pass',
    };
  }

  return {
    action: 'continue',
    reason: 'Tests still failing',
    nextPrompt: 'Fix failing tests and run again',
  };
}

/** Common Patterns: Security Remediation Hook. */
export function securityRemediation(context: AgentContext): StopHookResult {
  const vulnsFixed = context.validationResults.find((r) => r.ruleName === 'vulns_fixed')?.passed;

  const scanClean = context.validationResults.find((r) => r.ruleName === 'sast_clean')?.passed;

  if (vulnsFixed && scanClean) {
    return {
      action: 'complete',
      reason: 'All vulnerabilities remediated',
    };
  }

  if (context.iteration >= 10) {
    return {
      action: 'escalate',
      reason: 'Max iterations reached - complex vulnerabilities may require manual review',
    };
  }

  return {
    action: 'continue',
    reason: 'Vulnerabilities remain',
  };
}

/** Common Patterns: Checkpoint Creation Hook. */
export function checkpointCreation(context: AgentContext): StopHookResult {
  // Create checkpoint before risky operation
  if (context.iteration === 5) {
    return {
      action: 'continue',
      reason: 'Halfway checkpoint',
      checkpointData: {
        executionPhase: 'midpoint',
        executionStep: context.iteration,
        agentContext: {
          milestone: 'halfway',
        },
      },
    };
  }

  return {
    action: 'continue',
    reason: 'Iteration in progress',
  };
}
