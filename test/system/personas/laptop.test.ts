/** Somebody with a laptop: installs the package into a project, asks, writes a policy, connects an agent, presses Ctrl-C. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { firstDifference, readConsole } from '../../docs/shown-output.ts';
import { makeFolder } from '../../support/deployment.ts';
import { readPage, root } from '../../support/markdown.ts';
import { canBeAlone, type Day, dayTimeoutMs, live, notInPages, on, own, started } from './day.ts';

const install = 'npm install /path/to/this/folder/dist/packages/stopgate-0.1.0.tgz';
const doctor = 'npx stopgate doctor claude';
const processes = `ps -eo comm= | grep -vxE 'bash|ps|grep'`;
/** The console under "Try it". */
const [shown] = readPage('README.md').fences.filter(({ lang }) => lang === 'console');
const minutes = readConsole(shown?.text ?? '', shown?.line ?? 0);
const inForce = `until curl -fsS http://127.0.0.1:4280/api/main/policy | grep -q '"seq":[0-9]'; do sleep 0.1; done`;

const day: Day = [
  ...on('README.md', install),
  started('README.md', 'dev', 'npx stopgate dev', 'curl -fsS http://127.0.0.1:4280/readyz'),
  ...minutes.flatMap(({ command }) => [
    ...on('README.md', command),
    ...(command.includes('> stopgate.yaml') ? [own(inForce)] : []),
  ]),
  ...on('README.md', 'npx stopgate init claude').map((it) => ({ ...it, more: ' --yes' })), // no terminal to ask on
  ...on('README.md', doctor).map((it) => ({ ...it, more: ' --quick' })), // no Claude Code here
  own('end dev'),
  own(`while ${processes}; do sleep 0.1; done`),
];

test('each line stands in its page', () => {
  expect(minutes.length).toBeGreaterThan(4);
  expect(notInPages(day)).toEqual([]);
});

test.skipIf(!canBeAlone)(
  'a day on a laptop, from npm install to Ctrl-C, without a registry',
  { timeout: dayTimeoutMs },
  async () => {
    const folder = await makeFolder({ 'project/package.json': '{ "private": true }' });
    try {
      const packages = join(folder.path, 'dist/packages');
      await promisify(execFile)(process.execPath, [join(root, 'scripts/pack.js'), '--out', packages]);
      const { code, printed, said } = await live(day, folder, {
        ...{ cwd: join(folder.path, 'project'), installed: true, places: { '/path/to/this/folder': folder.path } },
        env: { npm_config_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' },
      });
      expect(code, printed).toBe(0);
      for (const { command, output } of minutes)
        expect(firstDifference(output, said(command)[0] ?? ''), `$ ${command}\n${printed}`).toBeNull();
      expect(said(doctor).join()).toMatch(/ready at http:\/\/127\.0\.0\.1:4280\n[\s\S]*✓ claude/);
    } finally {
      await folder.remove();
    }
  },
);
