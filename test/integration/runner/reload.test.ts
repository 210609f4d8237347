/** Reloads: checks of the old and the new file share one runner and the slots of the current file. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { createLogger } from '../../../src/log.ts';
import { createReloadingRunner } from '../../../src/runner/runner.ts';

/** The command `hold` runs until a file `go` exists. `code` is the exit code of the command `judge`. */
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

/** Root cause: each reload created another runner with its own slots and exit listener. */
test('reloads never exceed the configured concurrency and add no listeners', async () => {
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

test('lowering the concurrency affects later checks, and running ones continue', async () => {
  const { runner, reload, release, start } = await open(2);
  const running = [start('hold'), start('hold')];
  for (const { started } of running) await started;
  reload(1);
  const next = start('judge');
  expect(runner.waiting()).toBe(1);
  await release();
  for (const { ended } of [...running, next]) expect(await ended).toMatchObject({ outcome: 'pass' });
});

test('a check uses the configuration that was current at its request', async () => {
  const { reload, release, start } = await open(1);
  const [first, waiting] = [start('hold'), start('judge')];
  await first.started;
  reload(1, 3);
  const later = start('judge');
  await release();
  expect(await waiting.ended).toMatchObject({ outcome: 'pass' });
  expect(await later.ended).toMatchObject({ outcome: 'fail', reason: 'Command judge failed (exit 3)' });
});
