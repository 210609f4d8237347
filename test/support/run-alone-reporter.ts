/** After a run with failures in the slow projects: the command that runs each failed test alone. */
import type { Reporter, TestCase, TestModule } from 'vitest/node';

const commands: Readonly<Record<string, string>> = {
  smoke: 'npm run test:smoke --',
  docs: 'npx vitest run --project docs',
  system: 'npm run test:system --',
};

export class RunAloneReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.filter((module) => module.state() === 'failed').flatMap(linesOf);
    if (lines.length > 0) process.stdout.write(`\nTo run what failed alone:\n${lines.join('')}`);
  }
}

function linesOf(module: TestModule): string[] {
  const command = commands[module.project.name];
  if (command === undefined) return [];
  const line = `  ${command} ${module.relativeModuleId}`;
  const failed = [...module.children.allTests('failed')];
  // Without a failed test, a hook failed or the file did not load.
  return failed.length === 0 ? [`${line}\n`] : failed.map((test) => `${line} -t ${quote(patternOf(test))}\n`);
}

/** Returns the regular expression for `-t`: names of suites and test, separated by spaces. */
function patternOf(test: TestCase): string {
  const names = [test.name];
  for (let parent = test.parent; parent.type === 'suite'; parent = parent.parent) names.unshift(parent.name);
  return `^${names.join(' ').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
