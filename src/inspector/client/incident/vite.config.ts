/** Builds the page for files into dist/incident: one script and one style sheet, which the service puts into each file. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  publicDir: false,
  resolve: {
    alias: [
      { find: 'stopgate:charts', replacement: pathOf('../../../../dist/machines.json') },
      { find: 'stopgate:outlines', replacement: pathOf('../../../../dist/outlines.json') },
      // A file has no lab, and so no editor.
      { find: /^.*\/lab\/lab\.tsx$/, replacement: pathOf('./no-lab.tsx') },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../../../dist/incident',
    emptyOutDir: true,
    target: 'es2022',
    // KB. The page is one file that can be mailed.
    chunkSizeWarningLimit: 2_000,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      input: pathOf('./main.tsx'),
      output: { codeSplitting: false, entryFileNames: 'incident.js', assetFileNames: 'incident[extname]' },
    },
  },
});
