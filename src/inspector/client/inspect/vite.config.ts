/** Builds the page for XState apps into dist/inspect, which the service serves at /inspect, under fixed file names. */
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/inspect/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../../../dist/inspect',
    emptyOutDir: true,
    target: 'es2022',
    // No inlined assets: the page's content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { entryFileNames: 'inspect.js', assetFileNames: 'inspect[extname]' } },
  },
});
