/** The watcher, look by look: its timer is ours, the file system is real. */
import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ConfigWatch, watchFile } from '../../../src/config/watch.ts';
import { createLogger } from '../../../src/log.ts';

let folder: string;
let path: string;
let told: (string | null)[];
let watch: ConfigWatch | undefined;
let logged: string[];
const logger = createLogger('info', { write: (line) => void logged.push(line) });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-watch-'));
  path = join(folder, 'stopgate.yaml');
  told = [];
  logged = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  watch?.close();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const start = (known?: string | null, onChange = (text: string | null) => void told.push(text)) => {
  watch = watchFile({ path, onChange, logger, known });
};

/** Lets one interval pass and waits until the look is over, which is when the next one is due. */
async function look(times = 1): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    vi.advanceTimersByTime(500);
    await expect.poll(() => vi.getTimerCount()).toBe(1);
  }
}

describe('a watched file', () => {
  test('that nobody touches is never reported', async () => {
    writeFileSync(path, 'a');
    start();
    await look(4);
    expect(told).toEqual([]);
  });

  test('that is edited in place is reported once, at the second poll', async () => {
    writeFileSync(path, 'a');
    start();
    await look(2);
    writeFileSync(path, 'edited');
    await look();
    expect(told).toEqual([]);
    await look(3);
    expect(told).toEqual(['edited']);
  });

  test('that an editor replaces by rename is reported, every time', async () => {
    writeFileSync(path, 'a');
    start();
    for (const text of ['b', 'c']) {
      writeFileSync(join(folder, 'new'), text);
      renameSync(join(folder, 'new'), path);
      await look(3);
    }
    expect(told).toEqual(['b', 'c']);
  });

  test('that is still being written is reported when it is whole', async () => {
    writeFileSync(path, 'a');
    start();
    for (const text of ['fle', 'fleet', 'fleet: a']) {
      writeFileSync(path, text);
      await look();
    }
    expect(told).toEqual([]);
    await look();
    expect(told).toEqual(['fleet: a']);
  });

  test('that is deleted and created again is reported as gone and as new', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    await look(3);
    expect(told).toEqual([null]);
    writeFileSync(path, 'a');
    await look(3);
    expect(told).toEqual([null, 'a']);
  });

  test('that is away for one poll only was never gone', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    await look();
    writeFileSync(path, 'b');
    await look(3);
    expect(told).toEqual(['b']);
  });

  test('that appears later is reported, though its folder did not exist', async () => {
    rmSync(folder, { recursive: true });
    start();
    await look(2);
    mkdirSync(folder);
    writeFileSync(path, 'a');
    await look(3);
    expect(told).toEqual(['a']);
  });

  test('that is only touched, or edited back, is not reported', async () => {
    writeFileSync(path, 'a');
    start();
    await look(2);
    utimesSync(path, 1, 1);
    await look(2);
    writeFileSync(path, 'b');
    writeFileSync(path, 'a');
    await look(2);
    expect(told).toEqual([]);
  });

  test('that cannot be read is reported when it can', async () => {
    writeFileSync(path, 'a');
    start();
    rmSync(path);
    mkdirSync(path);
    await look(3);
    rmdirSync(path);
    writeFileSync(path, 'b');
    await look(3);
    expect(told).toEqual(['b']);
  });
});

test('that it cannot be read is logged once, and again when it was readable meanwhile', async () => {
  mkdirSync(path);
  start();
  await look(4);
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', file: path, reason: 'it is a folder' },
  ]);
  rmdirSync(path);
  writeFileSync(path, 'a');
  await look(3);
  expect(told).toEqual(['a']);
  rmSync(path);
  mkdirSync(path);
  await look(3);
  expect(logged).toHaveLength(2);
});

test('a listener that throws is logged, and hears of the next change', async () => {
  writeFileSync(path, 'a');
  start(undefined, (text) => {
    told.push(text);
    if (text === 'b') throw new Error('no such setting');
  });
  for (const text of ['b', 'c']) {
    writeFileSync(path, text);
    await look(3);
  }
  expect(told).toEqual(['b', 'c']);
  expect(logged).toEqual([expect.stringContaining('no such setting')]);
});

test('an edit between the first reading and the watch is not missed', async () => {
  writeFileSync(path, 'edited meanwhile');
  start('read before');
  await look(2);
  expect(told).toEqual(['edited meanwhile']);
});

test('a file that appears before the watch is not missed', async () => {
  writeFileSync(path, 'new');
  start(null);
  await look(2);
  expect(told).toEqual(['new']);
});

test('a closed watch reports nothing more, even of a poll in progress', async () => {
  writeFileSync(path, 'a');
  start();
  writeFileSync(path, 'b');
  await look();
  vi.advanceTimersByTime(500);
  watch?.close();
  vi.useRealTimers();
  const more: (string | null)[] = [];
  watch = watchFile({ path, onChange: (text) => more.push(text), logger, intervalMs: 1, known: null });
  await expect.poll(() => more).toEqual(['b']); // a second watch has looked twice since
  expect(told).toEqual([]);
});
