/** Several fleets in one process: which are opened, and what a failing one means for the others. */
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

/** Fleets that are opened in memory. `failing`: what their opening throws. */
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
  test('are all opened, and the first is that of requests which name none', async () => {
    const { start } = createScene();
    const fleets = await start('b,a');
    expect(served(fleets)).toEqual(['a', 'b']);
    expect(fleets.directory.default()).toBe('b');
    expect(fleets.directory.find('a').service.fleet).toBe('a');
    expect(fleets.directory.find('a')).toBe(fleets.directory.find('a'));
    expect(() => fleets.directory.find('c')).toThrow("no fleet 'c' here; this service serves 'b', 'a'");
    await fleets.close();
  });

  test('one that fails does not keep the others from being served, and says why it is not', async () => {
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

  test('one that goes on failing is tried less and less often, up to once a minute', async () => {
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

  test('one whose fold fails is not opened again, and the process goes on', async () => {
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
  test('whose cluster elects a leader just now is waited for', async () => {
    const { failing, tried, start } = createScene();
    const cause = new JetStreamApiError({ code: 503, err_code: 10_008, description: 'temporarily unavailable' });
    failing.set('main', new AppError('log.unavailable', 'the stream STOPGATE_main does not answer', { cause }));
    const starting = start('main');
    await expect.poll(() => tried.length).toBe(2);
    failing.clear();
    expect(served(await starting)).toEqual(['main']);
  });

  test('whose cluster has no leader is not waited for once the process is told to end', async () => {
    const { failing, tried, start } = createScene();
    const cause = new JetStreamApiError({ code: 503, err_code: 10_118, description: 'stream is offline' });
    failing.set('main', new AppError('log.unavailable', 'the stream STOPGATE_main does not answer', { cause }));
    const starting = start('main', { isInterrupted: () => tried.length > 1 });
    await expect(starting).rejects.toMatchObject({ code: 'log.unavailable' });
    expect(tried).toEqual(['main', 'main']);
  });

  test('that cannot be opened ends the start', async () => {
    const { start, failing } = createScene();
    failing.set('a', new AppError('log.lost', 'gone'));
    await expect(start('a')).rejects.toThrow('gone');
  });

  test('whose fold fails ends the process', async () => {
    const { start, breakers } = createScene();
    const fleets = await start('a');
    breakers.get('a')?.(false);
    expect(await fleets.broken).toBe('it cannot serve any longer');
    await fleets.close();
  });
});

test('of several, one whose replica has lost its name ends the process: all have that name', async () => {
  const { start, breakers } = createScene();
  const fleets = await start('a,b');
  breakers.get('b')?.(true);
  expect(await fleets.broken).toBe('it cannot serve any longer');
  await fleets.close();
});

describe('a pattern', () => {
  test('means the fleets that have a log, also those that come later', async () => {
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

  test('a log that is gone is a fault of its fleet, and not its end', async () => {
    const { start, found, closed } = createScene();
    found.push('team-a');
    const fleets = await start('team-*');
    found.length = 0;
    await later(2_000);
    expect(fleets.directory.has('team-a')).toBe(true);
    expect(closed).toEqual([]);
    await fleets.close();
  });

  test('while NATS does not list its streams, what is served is served', async () => {
    const { start } = createScene();
    const fleets = await start('a,team-*', {
      find: () => Promise.reject(new AppError('log.unavailable', 'no answer')),
    });
    expect(served(fleets)).toEqual(['a']);
    await fleets.close();
  });
});

test('another selection opens what is new and closes what is not meant any more', async () => {
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

test('a shard leaves the others to their processes, and says which', async () => {
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
