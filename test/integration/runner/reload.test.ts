/** Reloads: the old file's checks and the new one's share one runner, with the places that the file in force gives. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { createLogger } from '../../../src/log.ts';
import { createReloadingRunner } from '../../../src/runner/runner.ts';

/** Its command `hold` runs until there is a file `go`; `code` is the exit code of `judge`. */
const fileOf = (path: string, concurrency: number, code = 0) => {
  const hold = 'until [ -e go ]; do /bin/sleep 0.01; done';
  const read = readConfigFile(
    `concurrency: ${concurrency}
commands:
  hold: { run: [/bin/sh, -c, '${hold}'] }
  judge: { run: [/bin/sh, -c, 'exit ${code}'] }
`,
    path,
  );
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.file;
};

async function open(concurrency: number) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-reload-')));
  const filePath = join(folder, 'stopgate.yaml');
  const config = { file: fileOf(filePath, concurrency), filePath };
  const runner = createReloadingRunner(config, {}, createLogger('silent'));
  onTestFinished(async () => {
    await runner.close();
    await rm(folder, { recursive: true });
  });
  return {
    runner,
    reload: (count: number, code?: number) => runner.configure(fileOf(filePath, count, code)),
    release: () => writeFile(join(folder, 'go'), ''),
    start(name: string) {
      let onStarted = () => {};
      const started = new Promise<void>((done) => {
        onStarted = done;
      });
      const request = { kind: 'command', name, cwd: folder, timeoutMs: null, env: {} } as const;
      return { started, ended: runner.run(request, new AbortController().signal, onStarted) };
    },
  };
}

/** Root cause: each reload made a new runner beside the old one, each with all the places and a listener of its own. */
test('however often the file changes, no more commands run at once than it says, and no listener is added', async () => {
  const { runner, reload, release, start } = await open(1);
  const listeners = () => process.listenerCount('exit');
  const before = listeners();
  const first = start('hold');
  await first.started;
  const others = [];
  for (let count = 0; count < 5; count += 1) {
    reload(1);
    others.push(start('hold'));
  }
  expect(runner.waiting()).toBe(5);
  expect(listeners()).toBe(before);
  reload(2); // room for one more
  await others[0]?.started;
  expect(runner.waiting()).toBe(4);
  await release();
  for (const { ended } of [first, ...others]) expect(await ended).toMatchObject({ outcome: 'pass' });
});

test('fewer places hold for what comes next, and what runs goes on', async () => {
  const { runner, reload, release, start } = await open(2);
  const running = [start('hold'), start('hold')];
  for (const { started } of running) await started;
  reload(1);
  const next = start('judge');
  expect(runner.waiting()).toBe(1);
  await release();
  for (const { ended } of [...running, next]) expect(await ended).toMatchObject({ outcome: 'pass' });
});

test('a check runs what the file said when it was asked', async () => {
  const { reload, release, start } = await open(1);
  const [first, waiting] = [start('hold'), start('judge')];
  await first.started;
  reload(1, 3);
  const later = start('judge');
  await release();
  expect(await waiting.ended).toMatchObject({ outcome: 'pass' });
  expect(await later.ended).toMatchObject({ outcome: 'fail', reason: 'Command judge failed (exit 3)' });
});
