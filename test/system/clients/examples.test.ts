/** The projects in examples/: each is copied into a fresh folder, where a shell does what its README says. */
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment, readVariable } from '../../../src/config/environment.ts';
import { runBash } from '../../support/bash.ts';
import { ownFolder } from '../../support/dev.ts';
import { readPage, root } from '../../support/markdown.ts';
import { scriptModel } from '../../support/scripted-model.ts';
import { endService, serveShipped } from '../../support/service.ts';

const devLine = 'npx stopgate dev';

/** @returns what each line printed. @throws Error at a line that fails */
async function follow(example: string, given: Readonly<Record<string, string>> = {}): Promise<Map<string, string>> {
  const folder = await ownFolder();
  await cp(join(root, 'examples', example), folder.path, { recursive: true });
  // As `npm install` of the package would leave it.
  await mkdir(join(folder.path, 'node_modules/.bin'), { recursive: true });
  await symlink(join(root, 'bin/stopgate.js'), join(folder.path, 'node_modules/.bin/stopgate'));
  const inherited = Object.entries(readEnvironment()).filter(([name]) => !/^(STOPGATE|VITEST|OPENAI)/.test(name));
  const env = { ...Object.fromEntries(inherited), PIP_NO_COMPILE: '1', NO_COLOR: '1', ...given };
  const printed = new Map<string, string>();
  const lines = readPage(`examples/${example}/README.md`).fences.flatMap(({ lang, text }) =>
    lang === 'sh' ? text.split('\n') : [],
  );
  expect(lines).toContain(devLine);
  for (const line of lines) {
    if (line === devLine) {
      const service = await serveShipped(['dev', '--port', '0', '--http', '127.0.0.1:0'], folder.path, given);
      onTestFinished(() => endService(service));
      continue;
    }
    const done = await runBash(line.replaceAll('/path/to/stopgate', root.replace(/\/$/, '')), {
      cwd: folder.path,
      env,
    });
    if (done.code !== 0) throw new Error(`$ ${line}\nended with ${done.code}, having printed:\n${done.printed}`);
    printed.set(line, done.printed);
  }
  return printed;
}

const last = (printed: Map<string, string>) => [...printed.values()].at(-1) ?? '';
const modelEnv = (url: string) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'key', MODEL: 'scripted' });

test('an agent may not stop before the tests pass', async () => {
  const text = 'export const sum = (a, b) => a + b;\n';
  const model = await scriptModel([
    'I am done.',
    { tool: 'write_file', arguments: { name: 'sum.mjs', text } },
    'Done.',
  ]);
  const printed = await follow('agent-with-tests', modelEnv(model.url));
  expect(model.asked).toHaveLength(3);
  expect(model.asked[1]?.messages[0]?.content).toMatch(/tests/);
  expect(last(printed)).toMatch(/allow/);
});

test('three workers in Python share a queue', async () => {
  const printed = await follow('queue-python');
  const output = printed.get('.venv/bin/python workers.py') ?? '';
  expect(output).toMatch(/completed 6\n$/);
  expect(output.match(/ block 1 of 1 plan steps remain: Compile$/gm)).toHaveLength(6);
  expect(last(printed)).not.toMatch(/pending/);
});

test('a CI job fails until the task is complete', async () => {
  const printed = await follow('ci-gate');
  expect(printed.get('! bash gate.sh T-1')).toContain('1 of 1 plan steps remain: Write tests');
});

test('a second model judges', async () => {
  const verdicts = [
    { complete: false, reason: 'The README lacks the option --fast.' },
    { complete: true, reason: 'Every option has an example.' },
  ];
  const model = await scriptModel(verdicts.map((verdict) => JSON.stringify(verdict)));
  const printed = await follow('judge', { JUDGE_URL: model.url, JUDGE_KEY: 'key', JUDGE_MODEL: 'scripted' });
  expect(printed.get('! npx stopgate decide w1')).toContain('The README lacks the option --fast.');
  expect(last(printed)).toContain('allow');
});

test('a Go program asks over NATS', async () => {
  expect(last(await follow('go'))).toMatch(/^block incomplete 1 of 1 plan steps remain: Write tests\nallow complete/m);
});

// A minute of downloads.
test.runIf(readVariable('STOPGATE_TEST_ALL'))('a LangGraph graph ends through stopgate', async () => {
  const report = { tool: 'write_report', arguments: { text: 'Locks.' } };
  const model = await scriptModel(['I have finished the report.', report, 'The report is written.']);
  expect(last(await follow('langgraph', modelEnv(model.url)))).toMatch(/^block [\s\S]*^allow /m);
});

test('each README has about ten lines', async () => {
  for (const name of ['agent-with-tests', 'queue-python', 'ci-gate', 'judge', 'langgraph', 'go']) {
    const text = await readFile(join(root, 'examples', name, 'README.md'), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('<!--') && !line.startsWith('```'));
    expect(lines.length, name).toBeLessThanOrEqual(11);
  }
});
