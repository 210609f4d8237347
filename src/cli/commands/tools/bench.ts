/** bench: measures the cost of a decision on this machine, relative to raw NATS in the same run. */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { AppError } from '../../../errors.ts';
import { builtScript } from '../../../version.ts';
import { defineCommand, flag, words } from '../../command.ts';

/** The benchmark is part of the repository but not of the package. */
const program = pathToFileURL(builtScript('../bench/bench.js'));

type Figure = { readonly name: string; readonly value: number; readonly unit: string };
type Bench = {
  runBench(options: {
    readonly parts: readonly string[];
    readonly quick: boolean;
    readonly onPart: (name: string) => void;
    readonly signal: AbortSignal;
  }): Promise<Figure[] | null>;
  isReached(figure: Figure): boolean | null;
  formatFigures(figures: readonly Figure[]): string;
};

export const bench = defineCommand({
  args: {
    parts: words('PART', 'only these parts; an unknown name prints the list'),
    quick: flag('take a tenth of the samples; the figures vary more'),
    json: flag('print JSON'),
  },
  details: [
    'Starts a NATS server, a service and an echo responder in a temporary folder, and stops them afterwards. Takes two to twelve minutes. The baseline is an echo request plus an acknowledged publish on that server: ratios to it also hold on other machines, times do not. Leave the machine idle meanwhile.',
    'Only available in a clone of the repository. A missed goal is not an error: the exit code is 0.',
  ],
  examples: ['stopgate bench --quick', 'stopgate bench latency --json'],
  run: async ({ flags, io, out, note }) => {
    if (!existsSync(program))
      throw new AppError(
        'input.bad',
        'the package does not contain the benchmark; clone the repository and run "npm run bench"',
      );
    const { runBench, isReached, formatFigures } = (await import(program.href)) as Bench;
    const signal = AbortSignal.any([io.interrupt(), out.closed]);
    const figures = await runBench({
      parts: flags.parts,
      quick: flags.quick,
      onPart: (name) => note(`measuring ${name}`),
      signal,
    });
    if (figures === null) {
      note('stopgate: interrupted; nothing was measured');
      return 1;
    }
    if (flags.json) await out.json(figures.map((figure) => ({ ...figure, reached: isReached(figure) })));
    else await out.write(formatFigures(figures));
    return 0;
  },
});
