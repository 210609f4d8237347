/** Builds the page into dist/inspector. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const built = (file: string) => fileURLToPath(new URL(`../../../dist/${file}`, import.meta.url));

export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  // Relative, because a proxy may serve the page under a prefix.
  base: './',
  resolve: {
    alias: {
      'stopgate:charts': built('machines.json'),
      'stopgate:outlines': built('outlines.json'),
      'stopgate:schema': built('schema/stopgate.schema.json'),
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: built('inspector'),
    emptyOutDir: true,
    target: 'es2022',
    // No inlined assets: the page's content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Lazily loaded views share these modules. Without a group, they would become many small files.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'common', test: /client\/(data|ui)\// }] } },
      checks: { bundlerTimings: false }, // twelve lines about plugins, on a busy machine
    },
    // In KB.
    chunkSizeWarningLimit: 500,
  },
});
