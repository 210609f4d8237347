/**
 * Builds the pages into dist. By its mode: the inspector (`inspector`), which the service serves; and
 * the page for files (`incident`), one script and one style sheet, which
 * the service puts into each file.
 */
import { fileURLToPath } from 'node:url';
import { type BuildEnvironmentOptions, defineConfig, type UserConfig } from 'vite';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const built = (file: string) => pathOf(`../../../dist/${file}`);

const data = [
  { find: 'stopgate:charts', replacement: built('machines.json') },
  { find: 'stopgate:outlines', replacement: built('outlines.json') },
  { find: 'stopgate:schema', replacement: built('schema/stopgate.schema.json') },
];

const page = (name: string, build: BuildEnvironmentOptions, rest: UserConfig = {}): UserConfig => ({
  root: import.meta.dirname,
  logLevel: 'warn',
  resolve: { alias: data },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  ...rest,
  build: {
    outDir: built(name),
    emptyOutDir: true,
    target: 'es2022',
    // No inlined assets: the page's content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // KB. The page for files is one that can be mailed.
    chunkSizeWarningLimit: name === 'inspector' ? 500 : 2_000,
    ...build,
  },
});

const pages: Readonly<Record<string, UserConfig>> = {
  inspector: page('inspector', {}),
  incident: page(
    'incident',
    {
      cssCodeSplit: false,
      modulePreload: false,
      rolldownOptions: {
        input: pathOf('./incident/main.tsx'),
        output: { codeSplitting: false, entryFileNames: 'incident.js', assetFileNames: 'incident[extname]' },
      },
    },
    {
      publicDir: false,
      // A file has no lab, and so no editor.
      resolve: {
        alias: [...data, { find: /^.*\/lab\/lab\.tsx$/, replacement: pathOf('./incident/no-lab.tsx') }],
      },
    },
  ),
};

export default defineConfig(({ mode }) => pages[mode] ?? {});
