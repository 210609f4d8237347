/** Builds the page for XState apps into dist/inspect, which the service serves at /inspect, under fixed file names. */
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

/** ELK is a file of its own, loaded by the worker that runs it. */
const assetName = ({ names: [name = ''] }: { names: string[] }) =>
  name.startsWith('elk-worker') ? 'elk-worker.js' : 'inspect[extname]';

/** ELK is not ours: its license goes with it. */
const elkLicense: Plugin = {
  name: 'elk-license',
  generateBundle() {
    const source = readFileSync(new URL(import.meta.resolve('elkjs/LICENSE.md')));
    this.emitFile({ type: 'asset', fileName: 'elk-worker.LICENSE.md', source });
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: '/inspect/',
  logLevel: 'warn',
  plugins: [elkLicense],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../../../dist/inspect',
    emptyOutDir: true,
    target: 'es2022',
    // KB. The worker that lays charts out is one file of its library, and is loaded when a chart is shown.
    chunkSizeWarningLimit: 2_000,
    // No inlined assets: the page's content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { entryFileNames: 'inspect.js', assetFileNames: assetName } },
  },
});
