/**
 * Bundles the page, the program and the client with vite, including every library, so that users' versions cannot
 * conflict.
 */
import { existsSync, readdirSync } from 'node:fs';
import { build } from 'vite';

/** Not bundled: exporters that a user may install, and optional modules of `ws`. */
const optional = [/^@opentelemetry\/(?!api(-logs)?$)/, 'bufferutil', 'utf-8-validate'];

/** Programs and modules that are started or imported by their path, relative to dist/. */
const entriesOf = (dist) => [
  'machines/index',
  'src/client/index',
  'src/agents/claude/agent-sdk', // `exports` of package.json
  'src/main',
  'src/demo/play',
  'src/hook-command/main',
  'src/inspector/history/main',
  ...readdirSync(`${dist}/src/agents`)
    .map((agent) => `src/agents/${agent}/hook-command`)
    .filter((name) => existsSync(`${dist}/${name}.js`)),
];

/**
 * Files that the program reads, relative to dist/. The text of the last one matters: `init` fills the address into
 * OpenCode's plugin, and a bundler would reformat it.
 */
export const filesOfProgram = ['docs', 'inspector', 'schema', 'machines.json', 'src/agents/opencode/plugin.js'];

/** @returns the bundled packages */
export const bundlePage = async () => packagesIn(await build({ configFile: 'src/inspector/client/vite.config.ts' }));

/**
 * Keeps the paths of files, and puts chunks as deep as the rest of src, since code finds its neighbours by relative
 * paths.
 * @returns the bundled packages
 */
export function bundleProgram(dist, into) {
  const input = Object.fromEntries(entriesOf(dist).map((name) => [name, `${dist}/${name}.js`]));
  return bundle({ input, external: optional, output: { chunkFileNames: 'src/chunks/[name].js' } }, into);
}

/** Drops modules whose exports are unused: the machines, which the client only uses for types. */
export function bundleClient(dist, into) {
  const input = { index: `${dist}/src/client/index.js`, 'claude-agent-sdk': `${dist}/src/agents/claude/agent-sdk.js` };
  const treeshake = { moduleSideEffects: false };
  return bundle({ input, treeshake, output: { chunkFileNames: 'chunks/[name].js' } }, into);
}

async function bundle({ output, ...options }, outDir) {
  const onLog = (level, log) => {
    if (level === 'warn' && log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(log.message);
  };
  const written = await build({
    configFile: false,
    logLevel: 'warn',
    resolve: { alias },
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      rolldownOptions: { ...options, onLog, output: { format: 'esm', entryFileNames: '[name].js', ...output } },
    },
  });
  const lost = written.output.find((chunk) => /\brequire\d*\(\s*["'`]\.{1,2}\//.test(chunk.code ?? ''));
  if (lost !== undefined) throw new Error(`${lost.fileName} loads a file by 'require' that is not in the bundle`);
  return packagesIn(written);
}

/** The folders of the packages whose modules are in a bundle. */
function packagesIn({ output }) {
  const modules = output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\0', ''))?.[0]);
  return new Set(folders.filter((folder) => folder !== undefined));
}

/** Node would load its parts with a `require` that bundlers do not follow. */
const alias = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' };
