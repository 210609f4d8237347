/**
 * The operator: types lines of the pages, as they stand there, in a fresh folder, on the ports that the pages name. That
 * takes a network and processes of its own, which Linux gives to root; elsewhere it is skipped.
 */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { runBash } from '../../support/bash.ts';
import { cleanEnv } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { readPage } from '../../support/markdown.ts';
import { main } from '../../support/shipped.ts';

/** Ends all that was started, whatever happens. */
const alone = ['unshare', '--net', '--pid', '--fork', '--mount-proc', '--kill-child', 'bash'];
const canBeAlone = spawnSync(alone[0] as string, [...alone.slice(1), '-c', 'ip link set lo up']).status === 0;

/** `until`: it goes on in a terminal of its own, and the next line waits for this; `name`: by which it is ended. */
type Line = { readonly page: string; readonly line: string; readonly name?: string; readonly until?: string };
const own = (line: string): Line => ({ page: '', line });
const on = (page: string, ...lines: readonly string[]): Line[] => lines.map((line) => ({ page, line }));
const started = (page: string, name: string, line: string, until: string): Line => ({ page, line, name, until });

const operations = 'docs/operations.md';
const nats = started(operations, 'nats', 'nats-server -js -sd ./nats', '(: </dev/tcp/127.0.0.1/4222)');
const serveLine = 'npx stopgate serve --nats nats://127.0.0.1:4222';
const first = started(operations, 'first', serveLine, 'curl -fsS http://127.0.0.1:4280/readyz');
const ready = 'curl -fsS http://127.0.0.1:4281/readyz';
const second = started(operations, 'second', `${serveLine} --http 127.0.0.1:4281`, ready);
const askLine = 'npx stopgate decide w1; echo "exit code $?"';

const day: readonly Line[] = [
  ...on(
    'docs/security.md',
    'npx stopgate permissions > stopgate-accounts.conf',
    'nats-server -c stopgate-accounts.conf -t',
  ),
  ...on('README.md', `echo 'policies: { default: { checks: [{ plan: {} }] } }' > stopgate.yaml`),
  ...on('docs/upgrade.md', 'npx stopgate check'),
  nats,
  first,
  second,
  ...on(operations, ready),
  ...on('README.md', `npx stopgate publish worker w1 step.updated '{"step":"1","title":"Write tests"}'`, askLine),
  ...on(operations, 'curl -fsS http://127.0.0.1:4280/metrics', 'npx stopgate support-bundle'),
  ...on('docs/security.md', 'npx stopgate audit'),
  // One replica after the other is replaced.
  own('end first'),
  first,
  own('end second'),
  ...on(operations, 'npx stopgate snapshot', 'npx stopgate export >log.jsonl'),
  // The disk is lost, and the log comes from its export.
  own('end first'),
  own('end nats'),
  own('rm -rf nats'),
  nats,
  ...on(operations, 'npx stopgate import log.jsonl'),
  first,
  ...on('README.md', askLine),
];

/** A page may say more on the line: an option, or what it is for. */
const stands = ({ page, line }: Line) =>
  page === '' || readPage(page).text.replaceAll('`stopgate ', '`npx stopgate ').includes(line);

function scriptOf(lines: readonly Line[]): string {
  const typed = lines.map(({ page, line, name, until }) => {
    const shown = `printf '%s\\n' ${quote(`$ ${line}`)}`;
    if (page === '') return line;
    if (name === undefined) return `${shown}\n(set +e; ${line}) || exit 1`;
    const program = line.replace(/^npx stopgate/, `exec ${quote(process.execPath)} ${quote(main)}`);
    return `${shown}\n(${program}) >>${name}.log 2>&1 & pids[${name}]=$!\nuntil ${until} >/dev/null 2>&1; do sleep 0.1; done`;
  });
  return [
    'set -e; ip link set lo up; declare -A pids',
    `npx() { shift; ${quote(process.execPath)} ${quote(main)} "$@"; }`,
    `end() { kill "\${pids[$1]}"; wait "\${pids[$1]}" || true; }`,
    ...typed,
    `for name in "\${!pids[@]}"; do kill "\${pids[$name]}" 2>/dev/null || true; done; wait`,
  ].join('\n');
}
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

test('each line stands in its page', () => {
  expect(day.filter((line) => !stands(line))).toEqual([]);
});

test.skipIf(!canBeAlone)(
  'a day of an operator, from the first server to a lost disk',
  { timeout: 300_000 },
  async () => {
    const folder = await makeFolder();
    try {
      const script = await folder.write('.day.sh', scriptOf(day));
      const line = `timeout --kill-after=5 240 ${alone.join(' ')} ${script}`;
      const { code, printed } = await runBash(line, { cwd: folder.path, env: cleanEnv(folder.path) });
      expect(code, printed).toBe(0);
      const said = (command: string) =>
        printed
          .split(/^\$ /m)
          .filter((it) => it.startsWith(`${command}\n`))
          .map((it) => it.slice(command.length + 1));
      const [blocked = '', afterwards = ''] = said(askLine);
      expect(blocked).toMatch(
        /^block · continue · incomplete\n1 of 1 plan steps remain: Write tests[\s\S]*retries 1 of 3[\s\S]*exit code 1\n$/,
      );
      // From the imported log: the worker, its plan, and what was counted.
      expect(afterwards).toMatch(
        /^block · continue · incomplete\n1 of 1 plan steps remain: Write tests[\s\S]*retries 2 of 3[\s\S]*exit code 1\n$/,
      );
      expect(said('curl -fsS http://127.0.0.1:4280/metrics').join()).toMatch(/^stopgate_ready\{fleet="main"\} 1$/m);
      expect(said('npx stopgate support-bundle').join()).toMatch(/^wrote .*\.json: read it before you send it$/m);
    } finally {
      await folder.remove();
    }
  },
);
