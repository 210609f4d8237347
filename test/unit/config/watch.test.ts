/** Steps through the polls of the file watcher with a fake timer and a real file system. */
import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ConfigWatch, watchFile } from '../../../src/config/watch.ts';
import { createLogger } from '../../../src/log.ts';

let folder: string;
let path: string;
let reported: (string | null)[];
let watch: ConfigWatch | undefined;
let logged: string[];
const logger = createLogger('info', { write: (line) => void logged.push(line) });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-watch-'));
  path = join(folder, 'stopgate.yaml');
  reported = [];
  logged = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  watch?.close();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const start = (known?: string | null, onChange = (text: string | null) => void reported.push(text)) => {
  watch = watchFile({ path, onChange, logger, known });
};

/** Lets one interval pass and waits until the poll is over, which schedules the next one. */
async function poll(times = 1): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    vi.advanceTimersByTime(500);
    await expect.poll(() => vi.getTimerCount()).toBe(1);
  }
}

describe('a watched file', () => {
  test('that nobody touches is never reported', async () => {
    writeFileSync(path, 'a');
    start();
    await poll(4);
    expect(reported).toEqual([]);
  });

  test('that is edited in place is reported once, at the second poll', async () => {
    writeFileSync(path, 'a');
    start();
    await poll(2);
    writeFileSync(path, 'edited');
    await poll();
    expect(reported).toEqual([]);
    await poll(3);
    expect(reported).toEqual(['edited']);
  });

  test('that an editor replaces by a rename is reported every time', async () => {
    writeFileSync(path, 'a');
    start();
    for (const text of ['b', 'c']) {
      writeFileSync(join(folder, 'new'), text);
      renameSync(join(folder, 'new'), path);
      await poll(3);
    }
    expect(reported).toEqual(['b', 'c']);
  });

  test('that is being written is reported when it is complete', async () => {
    writeFileSync(path, 'a');
    start();
    for (const text of ['fle', 'fleet', 'fleet: a']) {
      writeFileSync(path, text);
      await poll();
    }
    expect(reported).toEqual([]);
    await poll();
    expect(reported).toEqual(['fleet: a']);
  });

  test('that is deleted and created again is reported as gone and as new', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    await poll(3);
    expect(reported).toEqual([null]);
    writeFileSync(path, 'a');
    await poll(3);
    expect(reported).toEqual([null, 'a']);
  });

  test('that is missing at a single poll is not reported as deleted', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    await poll();
    writeFileSync(path, 'b');
    await poll(3);
    expect(reported).toEqual(['b']);
  });

  test('that appears later is reported, even if its folder did not exist', async () => {
    rmSync(folder, { recursive: true });
    start();
    await poll(2);
    mkdirSync(folder);
    writeFileSync(path, 'a');
    await poll(3);
    expect(reported).toEqual(['a']);
  });

  test('that is only touched, or restored, is not reported', async () => {
    writeFileSync(path, 'a');
    start();
    await poll(2);
    utimesSync(path, 1, 1);
    await poll(2);
    writeFileSync(path, 'b');
    writeFileSync(path, 'a');
    await poll(2);
    expect(reported).toEqual([]);
  });

  test('that was unreadable is reported when it is readable again', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    mkdirSync(path);
    await poll(3);
    rmdirSync(path);
    writeFileSync(path, 'b');
    await poll(3);
    expect(reported).toEqual(['b']);
  });
});

test('an unreadable file is logged once, and again after it was readable', async () => {
  mkdirSync(path);
  start();
  await poll(4);
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', file: path, reason: 'it is a folder' },
  ]);
  rmdirSync(path);
  writeFileSync(path, 'a');
  await poll(3);
  expect(reported).toEqual(['a']);
  rmSync(path);
  mkdirSync(path);
  await poll(3);
  expect(logged).toHaveLength(2);
});

test('a listener that throws is logged, and gets the next change', async () => {
  writeFileSync(path, 'a');
  start(undefined, (text) => {
    reported.push(text);
    if (text === 'b') throw new Error('no such setting');
  });
  for (const text of ['b', 'c']) {
    writeFileSync(path, text);
    await poll(3);
  }
  expect(reported).toEqual(['b', 'c']);
  expect(logged).toEqual([expect.stringContaining('no such setting')]);
});

test('an edit between the first reading and the watch is not missed', async () => {
  writeFileSync(path, 'edited meanwhile');
  start('read before');
  await poll(2);
  expect(reported).toEqual(['edited meanwhile']);
});

test('a file that appears before the watch is not missed', async () => {
  writeFileSync(path, 'new');
  start(null);
  await poll(2);
  expect(reported).toEqual(['new']);
});

test('a closed watch reports nothing more, even of a poll in progress', async () => {
  writeFileSync(path, 'a');
  start();
  writeFileSync(path, 'b');
  await poll();
  vi.advanceTimersByTime(500);
  watch?.close();
  vi.useRealTimers();
  const more: (string | null)[] = [];
  watch = watchFile({ path, onChange: (text) => more.push(text), logger, intervalMs: 1, known: null });
  await expect.poll(() => more).toEqual(['b']); // a second watch has polled twice since
  expect(reported).toEqual([]);
});
