/** test: tests policies with cases (entries in, expected decisions out), without a service. */
import { existsSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import type { z } from 'zod';
import { caseFile, casesFile, type PolicyCase } from '../../../config/case-schema.ts';
import type { PolicyForm } from '../../../config/file.ts';
import { type Problem, readConfigFile } from '../../../config/file-reader.ts';
import { describeFaults, describePosition } from '../../../config/problems.ts';
import { readYaml } from '../../../config/yaml.ts';
import { AppError } from '../../../errors.ts';
import { clean } from '../../../terminal/text.ts';
import { sleep } from '../../../timer.ts';
import { type Context, defineCommand, type Flags, flag, words } from '../../command.ts';
import { readText, requireDefaultFile } from '../../input.ts';
import { rulesFile } from '../../templates.ts';
import { findUnreadFields, findUnreadResults } from './case-hints.ts';
import type { Control } from './control.ts';
import { type CaseDifference, runCase, sketchCases } from './policy-cases.ts';

const args = {
  files: words('FILE', 'case files, YAML or JSON (default: stopgate.test.yaml); with --control a stopgate.yaml'),
  control: flag('show instead that each check of a stopgate.yaml can fail'),
  init: flag('write first cases for the stopgate.yaml of this folder instead of running some'),
  watch: flag('run again whenever a case file, or a stopgate.yaml it names, changes'),
  json: flag('print JSON, one line per case'),
} as const;
type TestContext = Context<Flags<typeof args>>;

const watchMs = 300;

export const test = defineCommand({
  args,
  details: [
    'A case has entries as in the log, and the expected decisions. It contains its policies or names a stopgate.yaml. Nothing is run: the result of a check is a "check.finished" entry of the case. docs/testing-policies.md has an example for each kind of check.',
    'Exit code 0: all cases pass. 1: one fails. 2: a file is not a valid case file, or cannot be read.',
    'With --control, builds for each check of each policy a situation in which it must fail: an open step, a missing file, a dirty tree, or for a command a copy of the work tree whose last commit is reverted. Exit code 1: a check passes anyway, or cannot run there. Copies are temporary, and nothing in this folder is changed.',
  ],
  examples: ['stopgate test', 'stopgate test --init', 'stopgate test cases/*.yaml --watch', 'stopgate test --control'],
  run: async (context) => {
    const { flags, io, note } = context;
    if (flags.control) return runControl(context);
    const files = flags.files.length === 0 ? [casesFile] : flags.files;
    if (flags.init) return writeFirst(files, context);
    requireDefaultFile(casesFile, flags.files[0], io, '"stopgate test --init" writes one for your stopgate.yaml');
    if (!flags.watch) return runFiles(files, context, new Set());
    const signal = io.interrupt();
    for (;;) {
      const read = new Set<string>();
      const code = await runFiles(files, context, read).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        note(`stopgate: ${error.message}`);
      });
      if (signal.aborted) return code ?? 2;
      note('stopgate: waiting for changes; press Ctrl-C to exit');
      const before = await statesOf(read);
      while (!signal.aborted && (await statesOf(read)) === before) await sleep(watchMs, signal);
      if (signal.aborted) return code ?? 2;
    }
  },
});

async function runControl(context: TestContext): Promise<number> {
  const { flags, io, out, note } = context;
  if (flags.init || flags.watch) throw new AppError('input.bad', '--control runs once; leave out --init and --watch');
  const [file = 'stopgate.yaml', ...others] = flags.files;
  if (others.length > 0) throw new AppError('input.bad', '--control takes one stopgate.yaml');
  requireDefaultFile(file, flags.files[0], io, 'write one (docs/policies.md), or name yours');
  const path = resolve(io.cwd, file);
  const read = readConfigFile(await readText(file, io), path);
  if (!read.ok) throw refusedPolicy(read.problems, file);
  const signal = io.interrupt();
  const counts = { fails: 0, passes: 0, error: 0, skipped: 0 };
  const { controlChecks } = await import('./control.ts');
  try {
    const onProgress = (text: string) => note(`stopgate: ${text}`);
    for await (const control of controlChecks({ file: read.file, path, io, signal, onProgress })) {
      counts[control.outcome] += 1;
      if (flags.json) await out.json(control);
      else await out.print(...formatControl(control, out.colors));
    }
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  }
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) note(`stopgate: '${file}' has no checks`);
  if (!flags.json)
    await out.print(
      `${counts.fails} can fail, ${counts.passes} passed anyway, ${counts.error} could not run, ${counts.skipped} not tried`,
    );
  return counts.passes + counts.error > 0 ? 1 : 0;
}

function formatControl(
  { policy, check, situation, outcome, detail }: Control,
  colors: TestContext['out']['colors'],
): string[] {
  const name = `${policy}: ${check}`;
  const because = detail === null ? '' : `: ${clean(detail)}`;
  switch (outcome) {
    case 'fails':
      return [`${colors.green('ok')}    ${name} fails with ${clean(situation)}${because}`];
    case 'passes':
      return [`${colors.red('PASS')}  ${name} passes anyway with ${clean(situation)}`];
    case 'error':
      return [`${colors.red('ERROR')} ${name} cannot run with ${clean(situation)}${because}`];
    case 'skipped':
      return [`${colors.yellow('?')}     ${name} was not tried${because}`];
  }
}

/** @param read collects the files that were read */
async function runFiles(files: readonly string[], context: TestContext, read: Set<string>): Promise<number> {
  const { flags, io, out } = context;
  for (const file of files) if (file !== '-') read.add(resolve(io.cwd, file));
  let passed = 0;
  let failed = 0;
  for (const file of files) {
    const { topic, policy, cases } = readCases(await readText(file, io), file);
    for (const each of cases) {
      const policies = await policiesOf(each.policy ?? policy, file, context, read);
      const differences = runNamed(each, policies, file);
      // A case that passes may test a late result on purpose.
      const unread = differences.length === 0 ? [] : findUnreadResults(each, policies);
      const hints = [...findUnreadFields(each), ...unread];
      if (differences.length === 0) passed += 1;
      else failed += 1;
      const name = topic === undefined ? each.name : `${topic}: ${each.name}`;
      if (flags.json)
        await out.json({
          file,
          topic: topic ?? null,
          name: each.name,
          passed: differences.length === 0,
          differences,
          hints,
        });
      else
        await out.print(
          ...formatCase(name, differences, out.colors),
          ...hints.map((hint) => out.colors.yellow(`      ${clean(hint)}`)),
        );
    }
  }
  if (!flags.json) await out.print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Runs a case. Its errors name the file and the case. */
function runNamed(policyCase: PolicyCase, policies: PolicyForm | null, file: string): CaseDifference[] {
  try {
    return runCase(policyCase, policies);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('input.bad', `${file}: case '${policyCase.name}': ${error.message}`, { cause: error });
  }
}

/** @throws AppError input.bad with all problems and their lines */
function readCases(text: string, file: string): z.output<typeof caseFile> {
  const yaml = readYaml(text);
  const name = file === '-' ? 'stdin' : file;
  const refuse = (problems: readonly string[]): never => {
    throw new AppError('input.bad', problems.map((problem) => `${name}:${problem}`).join('\n'));
  };
  if (!yaml.ok) return refuse(yaml.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`));
  const parsed = caseFile.safeParse(yaml.value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const faults = describeFaults(parsed.error.issues, caseFile).slice(0, 20);
  return refuse(
    faults.map((fault) => {
      const { line, column } = yaml.locate(fault.path, fault.part);
      return `${line}:${column}: ${fault.message}`;
    }),
  );
}

/** Returns null if the case has no policies. @throws AppError input.bad */
async function policiesOf(
  policy: PolicyCase['policy'],
  file: string,
  { io }: TestContext,
  read: Set<string>,
): Promise<PolicyForm | null> {
  if (policy === undefined) return null;
  if (typeof policy !== 'string') {
    // Use the strict reader of the file, so that a misspelled key is not ignored.
    const found = readConfigFile(JSON.stringify({ policies: policy }), file);
    if (found.ok) return { policies: policy };
    const problems = found.problems.map(({ path, message }) => `${path.replace(/^policies\.?/, '')}: ${message}`);
    throw new AppError('input.bad', `${file}: the policy is refused: ${problems.join('; ')}`);
  }
  const path = resolve(io.cwd, file === '-' ? '.' : dirname(file), policy);
  read.add(path);
  return readPolicies(path, io, policy);
}

/** @param name the path as the user wrote it. @throws AppError input.bad */
async function readPolicies(path: string, io: TestContext['io'], name = path): Promise<PolicyForm | null> {
  const found = readConfigFile(await readText(path, io), path);
  if (found.ok) return found.file.policyForm;
  throw refusedPolicy(found.problems, name);
}

const refusedPolicy = (problems: readonly Problem[], file: string): AppError =>
  new AppError(
    'input.bad',
    problems.map((problem) => `${describePosition(problem, file)}: ${problem.message}`).join('\n'),
  );

async function statesOf(files: Iterable<string>): Promise<string> {
  const states = [...files].map((file) =>
    stat(file).then(
      ({ mtimeMs, size }) => `${mtimeMs} ${size}`,
      () => 'gone',
    ),
  );
  return (await Promise.all(states)).join('\n');
}

function formatCase(
  name: string,
  differences: readonly CaseDifference[],
  colors: TestContext['out']['colors'],
): string[] {
  if (differences.length === 0) return [`${colors.green('ok')}    ${name}`];
  const text = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return [
    `${colors.red('FAIL')}  ${name}`,
    ...differences.flatMap(({ path, expected, actual }) => [
      `      ${path}`,
      `        expected  ${text(expected)}`,
      `        was       ${text(actual)}`,
    ]),
  ];
}

/** The cases expect what stopgate.yaml decides now, so they fail as soon as it decides differently. */
async function writeFirst(files: readonly string[], { io, out, asTyped }: TestContext): Promise<number> {
  const [file = casesFile, ...others] = files;
  if (others.length > 0) throw new AppError('input.bad', '--init writes one file; give one name');
  const path = resolve(io.cwd, file);
  if (existsSync(path)) throw new AppError('input.bad', `'${file}' already exists; it was not changed`);
  requireDefaultFile(rulesFile, undefined, io, '"stopgate init --policy tests" writes one with its cases');
  const policies = await readPolicies(resolve(io.cwd, rulesFile), io);
  if (policies === null)
    throw new AppError(
      'input.bad',
      `${rulesFile} has no policies to test; see "stopgate init --help" for some to start from`,
    );
  const cases = sketchCases(policies);
  writeFileSync(path, formatCases(cases, relative(dirname(path), resolve(io.cwd, rulesFile))));
  const count = `${cases.length} case${cases.length === 1 ? '' : 's'}`;
  await out.print(`${file} has ${count} for ${rulesFile}; run with: ${asTyped('stopgate test')} ${file}`);
  return 0;
}

function formatCases(cases: readonly PolicyCase[], policy: string): string {
  const lines = cases.flatMap(({ name, entries, expect }) => [
    '',
    `  - name: ${name}`,
    '    entries:',
    ...entries.map((entry) => `      - ${JSON.stringify(entry)}`),
    '    expect:',
    ...expect.map((part) => `      - ${JSON.stringify(part)}`),
  ]);
  return `# yaml-language-server: $schema=./node_modules/stopgate/dist/schema/cases.schema.json
# "expect" is what ${rulesFile} decides now. Change it to what it should decide, and add cases.
policy: ${policy}
cases:${lines.join('\n')}
`;
}
