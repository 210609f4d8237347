/** demo: plays stopgate at work. */
import { pathToFileURL } from 'node:url';
import type { Output } from '../../../terminal/output.ts';
import { builtScript } from '../../../version.ts';
import { defineCommand, flag } from '../../command.ts';

/** Loaded by its path: it uses the whole program, of which this command is a part. */
type Demo = {
  playDemo(options: {
    readonly out: Output;
    readonly fast: boolean;
    readonly signal: AbortSignal;
    readonly asTyped: (text: string) => string;
  }): Promise<boolean>;
};

export const demo = defineCommand({
  args: { fast: flag('omit the pauses for reading') },
  details: [
    'Plays ten scenes with a real service and a real NATS server in a temporary folder, and checks every answer. Nothing remains afterwards, and no agent or model is called.',
    'Exit code 0: all answers were as expected. 1: one was not, and is printed. 130: interrupted.',
  ],
  examples: ['stopgate demo', 'stopgate demo --fast'],
  run: async ({ flags, io, out, asTyped }) => {
    const { playDemo } = (await import(pathToFileURL(builtScript('demo/play.js')).href)) as Demo;
    const signal = AbortSignal.any([io.interrupt(), out.closed]);
    return (await playDemo({ out, fast: flags.fast, signal, asTyped })) ? 0 : 130;
  },
});
