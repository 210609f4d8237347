/** A team with a NATS server of its own: a user for each role, two replicas, a runner next to the workspace, a token. */
import { expect, test } from 'vitest';
import { makeFolder } from '../../support/deployment.ts';
import { readPage } from '../../support/markdown.ts';
import { canBeAlone, type Day, dayTimeoutMs, live, notInPages, on, own, started } from './day.ts';

const security = 'docs/security/nats.md';
const serveLine = 'npx stopgate serve --nats nats://service:PASSWORD@127.0.0.1:4222';
/** The passwords stay as they are printed. */
const places = { PASSWORD: 'change-me-service' };
const config = 'stopgate-accounts.conf';
const jetstream = 'jetstream { store_dir: "nats" }';
const as = (role: string) => own(`export STOPGATE_NATS=nats://${role}:change-me-${role}@127.0.0.1:4222`);
const ready = (port: number) => `curl -fsS http://127.0.0.1:${port}/readyz`;
const decideLine = 'npx stopgate decide w1; echo "exit code $?"';
const boxToken = `npx stopgate token box-1 --role agent --worker 'box-1-*'`;
/** As somebody asks over HTTP who has the token; prints the status. */
const ask = (worker: string, header: string) =>
  `curl -sS -o /dev/null -w '%{http_code}\\n' ${header} -X POST http://127.0.0.1:4280/api/main/decide/${worker}`;
const withToken = `-H "Authorization: Bearer $(awk '/^token/ { print $2 }' token.txt)"`;
const asked = [ask('box-1-a', withToken), ask('other', withToken), ask('box-1-a', '')] as const;

const day: Day = [
  ...on(security, `npx stopgate permissions > ${config}`, `nats-server -c ${config} -t`),
  own(`echo '${jetstream}' >> ${config}`),
  started(security, 'nats', `nats-server -c ${config}`, '(: </dev/tcp/127.0.0.1/4222)'),
  own(
    `printf 'policies: { default: { runner: box, checks: [{ command: tests, onError: block }] } }\\n' > stopgate.yaml`,
  ),
  started(security, 'first', serveLine, ready(4280)),
  { ...started(security, 'second', serveLine, ready(4281)), more: ' --http 127.0.0.1:4281' },
  // Next to the workspace, with a stopgate.yaml of its own.
  as('runner'),
  own(`mkdir box; printf 'commands: { tests: { run: [test, -e, done] } }\\n' > box/stopgate.yaml; cd box`),
  started('docs/runners.md', 'box', 'npx stopgate runner --name box', `grep -q '"ready":true' box.log`),
  as('agent'),
  ...on('README.md', decideLine),
  own('touch done'),
  ...on('README.md', decideLine),
  own('cd ..'),
  ...on('docs/security/http.md', boxToken).map((it) => ({ ...it, more: ' | tee token.txt' })),
  own(`sed -n '/^tokens:/,$p' token.txt >> stopgate.yaml`),
  own(`until [ "$(${asked[2]})" = 401 ]; do sleep 0.1; done`),
  own(`printf '$ statuses\\n'`),
  ...asked.map(own),
];

test('each line stands in its page', () => {
  expect(notInPages(day)).toEqual([]);
  expect(readPage(security).text).toContain(jetstream);
});

test.skipIf(!canBeAlone)('a day of a team: roles, replicas, a runner, a token', { timeout: dayTimeoutMs }, async () => {
  const folder = await makeFolder();
  try {
    const { code, printed, said } = await live(day, folder, { places });
    expect(code, printed).toBe(0);
    const [blocked = '', done = ''] = said(decideLine);
    expect(blocked).toMatch(/^block · continue · incomplete\nCommand tests failed \(exit 1\)[\s\S]*exit code 1\n$/);
    expect(done).toMatch(/^allow · complete · complete\n[\s\S]*exit code 0\n$/);
    expect(said('statuses')).toEqual(['200\n403\n401\n']);
  } finally {
    await folder.remove();
  }
});
