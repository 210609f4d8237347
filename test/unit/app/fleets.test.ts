/** Several fleets in one process: which ones are opened, and how a failing one affects the others. */
import { JetStreamApiError } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Fleets, type FleetsOptions, openFleets } from '../../../src/app/fleets.ts';
import type { Replica } from '../../../src/app/replica.ts';
import { type FleetSelection, readFleetSelection } from '../../../src/config/fleet-selection.ts';
import { AppError } from '../../../src/errors.ts';
import { createLogger } from '../../../src/log.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const select = (text: string) => readFleetSelection(text) as FleetSelection;

/** Fleets in memory. `failing` has the errors that opening them throws. */
function createScene() {
  const failing = new Map<string, Error>();
  const tried: string[] = [];
  const closed: string[] = [];
  const breakers = new Map<string, (isNameTaken: boolean) => void>();
  const found: string[] = [];
  const open = async (fleet: string) => {
    tried.push(fleet);
    const error = failing.get(fleet);
    if (error !== undefined) throw error;
    const status = () => ({
      ready: true,
      reason: null,
      code: null,
      foldedSeq: 7,
      workers: 2,
      openAttempts: 1,
      neglected: 0,
      stateShare: 0,
    });
    return {
      service: { fleet, status },
      broken: new Promise<boolean>((done) => void breakers.set(fleet, done)),
      close: async () => void closed.push(fleet),
    } as unknown as Replica;
  };
  const start = (selection: string, options: Partial<FleetsOptions> = {}): Promise<Fleets> =>
    openFleets({
      selection: select(selection),
      shard: null,
      replica: 'r1',
      open,
      find: async () => found,
      logger: createLogger('silent'),
      ...options,
    });
  return { failing, tried, closed, breakers, found, start };
}

const served = ({ directory }: Fleets) =>
  directory.states().flatMap(({ name, fault }) => (fault === null ? [name] : []));
const later = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('several fleets', () => {
  test('are all opened, and requests that name no fleet go to the first', async () => {
    const { start } = createScene();
    const fleets = await start('b,a');
    expect(served(fleets)).toEqual(['a', 'b']);
    expect(fleets.directory.default()).toBe('b');
    expect(fleets.directory.find('a').service.fleet).toBe('a');
    expect(fleets.directory.find('a')).toBe(fleets.directory.find('a'));
    expect(() => fleets.directory.find('c')).toThrow("no fleet 'c' here; this service serves 'b', 'a'");
    await fleets.close();
  });

  test('a failing one does not affect the others, and reports its reason', async () => {
    const { start, failing, tried } = createScene();
    failing.set('b', new AppError('log.lost', 'the log STOPGATE_b is gone'));
    const fleets = await start('a,b');
    expect(served(fleets)).toEqual(['a']);
    expect(() => fleets.directory.find('b')).toThrow('the log STOPGATE_b is gone');
    expect(fleets.directory.states()[1]?.fault?.code).toBe('log.lost');

    failing.clear();
    await later(2_000);
    expect(served(fleets)).toEqual(['a', 'b']);
    expect(tried).toEqual(['a', 'b', 'b']);
    await fleets.close();
  });

  test('one that keeps failing is retried less and less often, down to once a minute', async () => {
    const { start, failing, tried } = createScene();
    failing.set('b', new AppError('log.lost', 'gone'));
    const fleets = await start('a,b');
    await later(60_000);
    const soon = tried.length;
    expect(soon).toBeLessThan(9);
    await later(600_000);
    expect(tried.length - soon).toBeGreaterThanOrEqual(9);
    expect(tried.length - soon).toBeLessThanOrEqual(11);
    await fleets.close();
  });

  test('one whose fold fails is not opened again, and the process continues', async () => {
    const { start, breakers, tried } = createScene();
    const fleets = await start('a,b');
    let ended = false;
    void fleets.broken.then(() => {
      ended = true;
    });
    breakers.get('b')?.(false);
    await later(10_000);
    expect({ ended, tried }).toEqual({ ended: false, tried: ['a', 'b'] });
    await fleets.close();
  });
});

describe('a single fleet', () => {
  test('is waited for while its cluster elects a leader', async () => {
    const { failing, tried, start } = createScene();
    const cause = new JetStreamApiError({ code: 503, err_code: 10_008, description: 'temporarily unavailable' });
    failing.set('main', new AppError('log.unavailable', 'the stream STOPGATE_main does not answer', { cause }));
    const starting = start('main');
    await expect.poll(() => tried.length).toBe(2);
    failing.clear();
    expect(served(await starting)).toEqual(['main']);
  });

  test('is not waited for once the process is stopping', async () => {
    const { failing, tried, start } = createScene();
    const cause = new JetStreamApiError({ code: 503, err_code: 10_118, description: 'stream is offline' });
    failing.set('main', new AppError('log.unavailable', 'the stream STOPGATE_main does not answer', { cause }));
    const starting = start('main', { isInterrupted: () => tried.length > 1 });
    await expect(starting).rejects.toMatchObject({ code: 'log.unavailable' });
    expect(tried).toEqual(['main', 'main']);
  });

  test('ends the start if it cannot be opened', async () => {
    const { start, failing } = createScene();
    failing.set('a', new AppError('log.lost', 'gone'));
    await expect(start('a')).rejects.toThrow('gone');
  });

  test('ends the process if its fold fails', async () => {
    const { start, breakers } = createScene();
    const fleets = await start('a');
    breakers.get('a')?.(false);
    expect(await fleets.broken).toBe('it can no longer serve');
    await fleets.close();
  });
});

test('one of several that has lost its replica name ends the process: all fleets share that name', async () => {
  const { start, breakers } = createScene();
  const fleets = await start('a,b');
  breakers.get('b')?.(true);
  expect(await fleets.broken).toBe('it can no longer serve');
  await fleets.close();
});

describe('a pattern', () => {
  test('selects the fleets that have a log, including later ones', async () => {
    const { start, found } = createScene();
    found.push('other', 'team-a');
    const fleets = await start('team-*');
    expect(served(fleets)).toEqual(['team-a']);
    expect(fleets.directory.default()).toBeNull();
    found.push('team-b');
    await later(2_000);
    expect(served(fleets)).toEqual(['team-a', 'team-b']);
    await fleets.close();
  });

  test('a fleet whose log disappears is still listed, with the fault', async () => {
    const { start, found, closed } = createScene();
    found.push('team-a');
    const fleets = await start('team-*');
    found.length = 0;
    await later(2_000);
    expect(fleets.directory.has('team-a')).toBe(true);
    expect(closed).toEqual([]);
    await fleets.close();
  });

  test('while NATS does not list its streams, open fleets are still served', async () => {
    const { start } = createScene();
    const fleets = await start('a,team-*', {
      find: () => Promise.reject(new AppError('log.unavailable', 'no answer')),
    });
    expect(served(fleets)).toEqual(['a']);
    await fleets.close();
  });
});

test('another selection opens the added fleets and closes the removed ones', async () => {
  const { start, closed } = createScene();
  const fleets = await start('a,b');
  await fleets.select(select('b,c'));
  await later(0);
  expect(served(fleets)).toEqual(['b', 'c']);
  expect(closed).toEqual(['a']);
  expect(fleets.directory.default()).toBe('b');
  await fleets.close();
  expect(closed).toEqual(['a', 'b', 'c']);
});

test('a shard leaves other fleets to their processes, and names those', async () => {
  const { start, tried } = createScene();
  const names = Array.from({ length: 40 }, (_, index) => `team-${index}`);
  const [one, two] = await Promise.all([1, 2].map((index) => start(names.join(), { shard: { index, count: 2 } })));
  expect([...tried].sort()).toEqual([...names].sort());
  const [first = ''] = served(two as Fleets);
  expect(() => one?.directory.find(first)).toThrow(
    `no fleet '${first}' here; it belongs to shard 2/2, and this process is 1/2`,
  );
  await one?.close();
  await two?.close();
});
