/** Prints a final plain line, `N passed, N failed`, for CI systems. */

import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';
import { readVariable } from '../../src/config/environment.ts';

class SummaryReporter implements Reporter {
  /** Errors outside of tests (a file that does not load, a hook, an unhandled rejection) count as one failure each. */
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string) => states.filter((each) => each === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    const failed = count('failed') + broken;
    const skipped = count('skipped');
    const rest = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(
      `\n${count('passed')} passed, ${reason === 'passed' ? failed : Math.max(failed, 1)} failed${rest}\n`,
    );
  }
}

/** The reporters: vitest's own and, in CI, the plain line. */
export const reporters = readVariable('CI') === 'true' ? ['default', new SummaryReporter()] : ['default'];
