/** bench: what a decision costs here, relative to raw NATS in the same run. */
import { benchParts, runBench } from '../../bench/bench.ts';
import { formatFigures, isReached } from '../../bench/figures.ts';
import { defineCommand } from '../command.ts';

export const bench = defineCommand({
  args: {
    part: {
      type: 'positional',
      required: false,
      valueHint: 'PART...',
      description: `only these: ${benchParts.join(', ')}`,
    },
    quick: { type: 'boolean', description: 'a tenth of the samples, in under 20 s; the figures vary more' },
    json: { type: 'boolean', description: 'print JSON, for programs' },
  },
  rest: true,
  details: [
    'Starts a NATS server, a service and an echo responder in a temporary folder, and stops them again. Takes about a minute and a half. The floor is an echo request plus an acknowledged publish on that server: ratios to it also hold on other machines, times do not. Leave the machine idle while it runs.',
    'A missed goal is not an error: the exit code is 0.',
  ],
  examples: ['stopgate bench --quick', 'stopgate bench latency --json'],
  run: async ({ flags, words, io, out, note }) => {
    const signal = AbortSignal.any([io.interrupt(), out.closed]);
    const figures = await runBench({
      parts: words,
      quick: flags.quick,
      onPart: (name) => note(`measuring ${name}`),
      signal,
    });
    if (figures === null) {
      note('stopgate: ended early; nothing was measured');
      return 1;
    }
    if (flags.json) await out.json(figures.map((figure) => ({ ...figure, reached: isReached(figure) })));
    else await out.write(formatFigures(figures));
    return 0;
  },
});
