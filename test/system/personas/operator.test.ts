/** The operator: runs the service on a NATS server, replaces replicas, exports the log, and loses a disk. */
import { expect, test } from 'vitest';
import { makeFolder } from '../../support/deployment.ts';
import { canBeAlone, type Day, dayTimeoutMs, live, notInPages, on, own, started } from './day.ts';

const run = 'docs/operations/run.md';
const backup = 'docs/operations/backup.md';
const nats = started(run, 'nats', 'nats-server -js -sd ./nats', '(: </dev/tcp/127.0.0.1/4222)');
const serveLine = 'npx stopgate serve --nats nats://127.0.0.1:4222';
const first = started(run, 'first', serveLine, 'curl -fsS http://127.0.0.1:4280/readyz');
const ready = 'curl -fsS http://127.0.0.1:4281/readyz';
const second = started(run, 'second', `${serveLine} --http 127.0.0.1:4281`, ready);
const askLine = 'npx stopgate decide w1; echo "exit code $?"';

const day: Day = [
  ...on(
    'docs/security/nats.md',
    'npx stopgate permissions > stopgate-accounts.conf',
    'nats-server -c stopgate-accounts.conf -t',
  ),
  ...on('README.md', `echo 'policies: { default: { checks: [{ plan: {} }] } }' > stopgate.yaml`),
  ...on('docs/upgrade.md', 'npx stopgate check'),
  nats,
  first,
  second,
  ...on(run, ready),
  ...on('README.md', `npx stopgate publish worker w1 step.updated '{"step":"1","title":"Write tests"}'`, askLine),
  ...on('docs/operations/metrics.md', 'curl -fsS http://127.0.0.1:4280/metrics'),
  ...on('docs/operations/README.md', 'npx stopgate support-bundle'),
  ...on('docs/security/http.md', 'npx stopgate audit'),
  // One replica after the other is replaced.
  own('end first'),
  first,
  own('end second'),
  ...on('docs/operations/log-size.md', 'npx stopgate snapshot'),
  ...on(backup, 'npx stopgate export >log.jsonl'),
  // The disk is lost, and the log comes from its export.
  own('end first'),
  own('end nats'),
  own('rm -rf nats'),
  nats,
  ...on(backup, 'npx stopgate import log.jsonl'),
  first,
  ...on('README.md', askLine),
];

test('each line stands in its page', () => {
  expect(notInPages(day)).toEqual([]);
});

test.skipIf(!canBeAlone)(
  'a day of an operator, from the first server to a lost disk',
  { timeout: dayTimeoutMs },
  async () => {
    const folder = await makeFolder();
    try {
      const { code, printed, said } = await live(day, folder);
      expect(code, printed).toBe(0);
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
