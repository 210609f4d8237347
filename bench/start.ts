/** Commands from start to end, compared with an empty node: what they load is paid for each time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildCommand, runToEnd } from './child.ts';
import { type Figure, figure, quantile } from './figures.ts';
import { type Operation, sampleInTurn } from './samples.ts';

const rounds = 9;
const roundsMin = 3;

export async function measureStart(url: string, scale: number): Promise<Figure[]> {
  const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
  const cwd = mkdtempSync(join(tmpdir(), 'stopgate-bench-')); // without a stopgate.yaml, whose parser takes longer to load
  const node = (...args: string[]): Operation => {
    const command: ChildCommand = [process.execPath, ...args];
    return () => runToEnd(command, { cwd });
  };
  try {
    const took = await sampleInTurn(
      {
        node: node('-e', '0'),
        version: node(main, '--version'),
        help: node(main, '--help'),
        decide: node(main, 'decide', 'start', '--nats', url),
      },
      { rounds: Math.max(roundsMin, rounds * scale), perRound: 1, warmUps: 1 },
    );
    const ratio = (name: keyof typeof took) => quantile(took[name], 0.5) / quantile(took.node, 0.5);
    return [
      figure('node -e 0 p50', quantile(took.node, 0.5), 'ms'),
      figure('stopgate --version p50 / node -e 0', ratio('version'), 'x', { atMost: 1.5 }),
      figure('stopgate --help p50 / node -e 0', ratio('help'), 'x', { atMost: 1.5 }),
      figure('stopgate decide p50 / node -e 0', ratio('decide'), 'x', { atMost: 2.5 }),
    ];
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
