/** Snapshots: the longest pause while one is taken, and the duration of a start from one, with the tail of the log. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createFleet, type Fleet, foldEntry, readEntry, takeSnapshot } from '../machines/index.ts';
import { createLogger } from '../src/log.ts';
import { readPosition } from '../src/nats/log/log-continuity.ts';
import type { LogPosition } from '../src/nats/log/log-reader.ts';
import { openLogReader } from '../src/nats/log/log-reader.ts';
import { createSnapshots } from '../src/nats/snapshots/snapshots.ts';
import { type Figure, figure } from './figures.ts';

const workersMax = 100_000;
const tailEntries = 10_000;
const name = 'bench-snapshots';
const stream = `STOPGATE_${name}`;

export async function measureSnapshots(url: string, scale: number): Promise<Figure[]> {
  const workers = Math.ceil(workersMax * scale);
  const nc = await connect({ servers: url });
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: stream, subjects: [`stopgate.${name}.worker.>`], storage: 'file' });
  for (let index = 0; index <= tailEntries; index += 1)
    nc.publish(`stopgate.${name}.worker.w${(index * 7) % workers}.tool.used`, '{"tool":"Edit","files":["src/a.ts"]}');
  await nc.flush();
  const snapshots = createSnapshots(nc, name, createLogger('silent'));
  const fleet = foldWorkers(workers);

  const pauses = watchPauses();
  const snapshot = takeSnapshot(fleet);
  const position = (await readPosition(manager, stream, 1)) as LogPosition;
  const written = await snapshots.store.write({ fleet: name, rules: 1, position }, { lines: snapshot.lines, host: {} });
  snapshot.close();
  const longestMs = pauses.end();

  const startedMs = performance.now();
  const start = await snapshots.findStart(undefined);
  if (start === null) throw new Error('the snapshot was passed over');
  await foldTail(start.fleet, (onMessage) => openLogReader(nc, { stream, fromSeq: 2, onMessage }));
  const startMs = performance.now() - startedMs;
  await manager.streams.delete(stream);
  await nc.close();
  return [
    figure('snapshot of 100,000 workers: the longest pause meanwhile', longestMs, 'ms', { atMost: 20 }),
    figure('snapshot of 100,000 workers: stored size', written.bytes, 'B'),
    figure('start from it, and a tail of 10,000 entries', startMs, 'ms', { atMost: 1_000 }),
  ];
}

function foldWorkers(count: number): Fleet {
  const fleet = createFleet(name);
  for (let index = 0; index < count; index += 1) {
    fold(fleet, `w${index}.worker.registered`, '{"agent":"bench","cwd":"/home/u/project"}');
    fold(fleet, `w${index}.plan.updated`, '{"steps":[{"title":"Write tests","status":"completed"}]}');
    fold(fleet, `w${index}.stop.attempted`, `{"attempt":"a${index}"}`);
  }
  return fleet;
}

function fold(fleet: Fleet, tail: string, text: string, atMs = fleet.nowMs + 1): void {
  const entry = readEntry(`stopgate.${name}.worker.${tail}`, text, text.length);
  if (entry === null || !('data' in entry)) throw new Error(`no entry: ${tail}`);
  foldEntry(fleet, { seq: fleet.seq + 1, atMs, entry });
}

function foldTail(
  fleet: Fleet,
  open: (onMessage: Parameters<typeof openLogReader>[1]['onMessage']) => { close(): void },
): Promise<void> {
  const decoder = new TextDecoder();
  return new Promise((resolve) => {
    const reader = open(({ seq, subject, data }) => {
      // Uses the bench's own clock. By the log's clock, all workers would be stale at once.
      fold(fleet, subject.split('.').slice(3).join('.'), decoder.decode(data));
      if (seq <= tailEntries) return;
      reader.close();
      resolve();
    });
  });
}

/** Measures the longest time for which the event loop was blocked. */
function watchPauses(): { end(): number } {
  let lastMs = performance.now();
  let longestMs = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  return {
    end() {
      clearInterval(timer);
      return longestMs;
    },
  };
}
