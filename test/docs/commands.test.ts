/**
 * Types every command of README and docs like a reader, in the order of the page, and compares its output with the
 * page. YAML is checked with the service's schema, JSON is parsed, TypeScript is type-checked (types.test.ts).
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { readVariable } from '../../src/config/environment.ts';
import { readConfigFile } from '../../src/config/file-reader.ts';
import { type Directive, type Fence, type Page, pagePaths, readPage } from '../support/markdown.ts';
import { openReader, type Reader } from './reader.ts';
import { firstDifference, readConsole } from './shown-output.ts';

process.setMaxListeners(30); // many services run at once, and each listens for the end of the process

const pages = pagePaths().map(readPage);
/** Pages are tested concurrently, so each takes about as long as all of them. */
const pageTimeoutMs = 120_000;
const shells = new Set(['sh', 'console']);
const hasCommands = ({ fences }: Page) => fences.some(({ lang, notRun }) => shells.has(lang) && notRun === null);
const named = (those: readonly Page[]) => those.map((page) => [page.path, page] as const);

test.concurrent.each(named(pages.filter(hasCommands)))(
  '%s: each command does what the page shows',
  async (_path, page) => {
    const reader = await openReader();
    try {
      for (const step of page.steps) await follow(reader, page, step);
    } finally {
      await reader.close();
    }
  },
  pageTimeoutMs,
);

/** @throws AssertionError naming the line of the page */
async function follow(reader: Reader, page: Page, step: Fence | Directive): Promise<void> {
  if ('kind' in step) {
    if (step.kind === 'service') await typeLine(reader, page, step.line, 'npx stopgate dev');
    else for (const line of linesOf(step.text)) await typeLine(reader, page, step.line, line, [0, 1]);
    return;
  }
  const file = /^(?:#|\/\/) ([\w.-]+\.\w+)$/.exec(step.text.split('\n', 1)[0] ?? '')?.[1];
  if (step.notRun !== null) return;
  if (file !== undefined) await reader.save(file, `${step.text}\n`);
  else if (step.lang === 'sh') {
    for (const line of linesOf(step.text)) await typeLine(reader, page, step.line, line, expectedCodes(line));
  } else if (step.lang === 'console') {
    for (const { line, command, output } of readConsole(step.text, step.line)) {
      const { printed } = await typeLine(reader, page, line, command, [0, 1]);
      const difference = firstDifference(output, printed);
      expect(difference, `${page.path}:${line}: $ ${command}\nprinted:\n${printed}\nthe page shows`).toBeNull();
    }
  }
}

async function typeLine(reader: Reader, { path }: Page, at: number, line: string, codes: readonly number[] = [0]) {
  const ended = await reader.type(line);
  expect(codes, `${path}:${at}: ${line}\nends with ${ended.code}, having printed:\n${ended.printed}`).toContain(
    ended.code,
  );
  return ended;
}

/** Returns the commands of a fence. `\` at the end of a line joins it with the next. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));

/** Returns the expected exit code: 0, unless the comment of the line names another. */
const expectedCodes = (line: string): number[] => [Number(/#.*exit code (\d)/.exec(line)?.[1] ?? 0)];

const realNats = readVariable('STOPGATE_TEST_NATS');

test.runIf(realNats !== undefined)('the pages use only commands and options of `nats` that exist', async () => {
  const said = pages.flatMap(({ text }) => [...text.matchAll(/`nats (\w[^`]*)`/g)].map(([, it = '']) => it));
  expect(said.length).toBeGreaterThan(3);
  for (const each of new Set(said.map((it) => it.replaceAll('\n', ' '))))
    await expect(promisify(execFile)('bash', ['-c', `${realNats} ${each} --help`]), each).resolves.toBeDefined();
});

describe.each(named(pages))('%s', (_path, { path, fences }) => {
  const of = (...langs: string[]) => fences.filter(({ lang, notRun }) => langs.includes(lang) && notRun === null);

  test.each(of('yaml').map((it) => [it.line, it.text] as const))('line %i is a valid stopgate.yaml', (_line, text) => {
    expect(readConfigFile(text, 'stopgate.yaml')).toMatchObject({ ok: true });
  });

  test.each(of('json', 'jsonc').map((it) => [it.line, it] as const))('line %i is JSON', (_line, { lang, text }) => {
    const errors: object[] = [];
    if (lang === 'json') expect(() => JSON.parse(text)).not.toThrow();
    else parse(text, errors as never);
    expect(errors).toEqual([]);
  });

  test('names the language of each fence', () => {
    const known = [
      'sh',
      'console',
      'yaml',
      'json',
      'jsonc',
      'ts',
      'js',
      'python',
      'go',
      'lua',
      'toml',
      'text',
      'mermaid',
      '',
    ];
    expect(
      fences.filter(({ lang }) => !known.includes(lang)).map(({ line, lang }) => `${path}:${line} ${lang}`),
    ).toEqual([]);
  });
});

test('only these commands are not tested', () => {
  const left = pages.flatMap(({ path, fences }) =>
    fences.filter(({ notRun }) => notRun !== null).map(({ notRun }) => `${path}: ${notRun}`),
  );
  expect(left).toEqual([
    'CONTRIBUTING.md: installs, builds and tests everything; CI runs it',
    'CONTRIBUTING.md: an hour or more',
    'CONTRIBUTING.md: takes minutes, and downloads Stryker',
    'README.md: test/system/packages.test.ts, test/system/cli/up.test.ts',
    'clients/python/README.md: test/system/clients/python.test.ts',
    'docs/acp.md: it needs an agent',
    'docs/agents.md: needs Claude Code',
    'docs/agents/usage.md: needs Claude Code',
    'docs/agents/usage.md: needs Copilot CLI',
    'docs/benchmarks.md: takes two to twelve minutes of an otherwise idle machine; test/system/bench.test.ts runs a part',
    'docs/ci.md: test/system/ci-checks.test.ts',
    'docs/ci.md: needs something to wait for',
    'docs/command-line.md: test/system/cli/up.test.ts',
    'docs/command-line.md: needs Claude Code',
    'docs/command-line.md: needs Claude Code',
    "docs/command-line.md: writes into the user's configuration folder",
    'docs/decisions/009-three-copies-take-nats-2-15.md: kills servers for a minute',
    'docs/go.md: test/system/clients/go.test.ts',
    'docs/operations/backup.md: test/docs/backup.test.ts',
    'docs/operations/backup.md: test/docs/backup.test.ts',
    'docs/operations/backup.md: test/docs/backup.test.ts',
    'docs/operations/backup.md: test/docs/backup.test.ts',
    'docs/operations/lost-log.md: the log must be lost first; test/integration/faults/lost-log.test.ts',
    'docs/operations/opentelemetry.md: needs a collector; test/integration/app/traces.test.ts, metrics.test.ts and evaluations.test.ts have one',
    'docs/operations/regions.md: needs a supercluster; test/system/deployment/supercluster.test.ts',
    'docs/operations/regions.md: needs a leaf node; test/system/deployment/leaf-node.test.ts',
    'docs/operations/regions.md: test/system/deployment/websocket.test.ts',
    'docs/operations/regions.md: test/system/deployment/websocket.test.ts',
    'docs/operations/run.md: downloads nats-server; test/system/app/install-nats.test.ts',
    'docs/operations/run.md: needs Docker',
    'docs/operations/run.md: needs a Kubernetes cluster; test/system/deployment/helm-chart.test.ts renders the chart',
    'docs/operations/run.md: downloads the command',
    'docs/packages.md: test/system/packages.test.ts',
    'docs/packages.md: test/system/packages.test.ts, test/system/cli/up.test.ts',
    'docs/policies.md: test/integration/cli/rules.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python.test.ts',
    'docs/python.md: test/system/clients/python-agents.test.ts',
    'docs/receipts.md: test/docs/receipts.test.ts',
    'docs/receipts.md: test/docs/receipts.test.ts',
    'docs/receipts.md: test/docs/receipts.test.ts',
    'docs/receipts.md: a workflow, not a stopgate.yaml',
    'docs/recipes.md: test/docs/recipes.test.ts',
    'docs/recipes.md: a workflow, not a stopgate.yaml; test/docs/recipes.test.ts',
    'docs/recipes.md: needs root and systemd',
    'docs/recipes.md: needs Docker',
    'docs/reliability.md: minutes of both cores',
    'docs/reliability.md: downloads TLC',
    'docs/reliability.md: takes an hour by default',
    'docs/security/nats.md: needs nsc; test/system/deployment/jwt-accounts.test.ts runs it if it is installed; last seen with nsc 2.15.0',
    'docs/seeds.md: npm test runs them all',
    'docs/session-states.md: needs Linear and Slack; test/docs/session-states.test.ts runs it against stand-ins',
    'docs/testing-policies.md: a case file, not a stopgate.yaml; test/integration/cli/policy-test.test.ts',
    'docs/testing-policies.md: a case file, not a stopgate.yaml; test/integration/cli/policy-test.test.ts',
    'docs/testing-policies.md: test/integration/cli/control.test.ts',
    'docs/testing-policies.md: a workflow, not a stopgate.yaml',
    'docs/upgrade.md: needs two releases',
    'docs/upgrade.md: needs two releases',
    'docs/upgrade.md: needs two releases',
    'examples/agent-with-tests/README.md: test/system/clients/examples.test.ts',
    'examples/agent-with-tests/README.md: test/system/clients/examples.test.ts',
    'examples/ci-gate/README.md: test/system/clients/examples.test.ts',
    'examples/ci-gate/README.md: test/system/clients/examples.test.ts',
    'examples/go/README.md: test/system/clients/examples.test.ts',
    'examples/go/README.md: test/system/clients/examples.test.ts',
    'examples/judge/README.md: test/system/clients/examples.test.ts',
    'examples/judge/README.md: test/system/clients/examples.test.ts',
    'examples/langgraph/README.md: test/system/clients/examples.test.ts',
    'examples/langgraph/README.md: test/system/clients/examples.test.ts',
    'examples/queue-python/README.md: test/system/clients/examples.test.ts',
    'examples/queue-python/README.md: test/system/clients/examples.test.ts',
    'plugins/claude/README.md: needs Claude Code',
    'plugins/codex/README.md: needs Codex',
  ]);
});
