/**
 * Bundles what `tsc` and `vite` built into few files. Every library goes in: an install is small, and asks for nothing
 * that our users' own versions could disagree with.
 */
import { existsSync, readdirSync } from 'node:fs';
import { rolldown } from 'rolldown';

/** Not installed with us: the exporters that a user adds, and what `ws` tries to load. */
const optional = [/^@opentelemetry\/(?!api$)/, 'bufferutil', 'utf-8-validate'];

/** Programs and modules that are started or imported by their path, from dist/. */
const entriesOf = (dist) => [
  'machines/index',
  'src/client/index',
  'src/agents/claude/agent-sdk', // `exports` of package.json
  'src/main',
  'src/hook-command/main',
  'src/inspector/history/main',
  ...readdirSync(`${dist}/src/agents`)
    .map((agent) => `src/agents/${agent}/hook-command`)
    .filter((name) => existsSync(`${dist}/${name}.js`)),
];

/**
 * What it reads beside its code, from dist/. Of the last two the texts count: `init` fills the address into OpenCode's
 * plugin, which a bundler would write in another way.
 */
export const filesOfProgram = [
  'inspector',
  'inspect',
  'incident',
  'schema',
  'machines.json',
  'src/hook-command/post.pl',
  'src/agents/opencode/plugin.js',
];

/**
 * Files keep their places and chunks are as deep as the rest of src, since code looks for its neighbours by relative
 * paths. @returns the packages that went in
 */
export function bundleProgram(dist, into) {
  const input = Object.fromEntries(entriesOf(dist).map((name) => [name, `${dist}/${name}.js`]));
  return bundle({ input, external: optional }, { dir: into, chunkFileNames: 'src/chunks/[name].js' });
}

/** Modules count by what they export: the machines, which the client only names in types, stay out. */
export function bundleClient(dist, into) {
  const input = { index: `${dist}/src/client/index.js`, 'claude-agent-sdk': `${dist}/src/agents/claude/agent-sdk.js` };
  const treeshake = { moduleSideEffects: false };
  return bundle({ input, treeshake }, { dir: into, chunkFileNames: 'chunks/[name].js' });
}

async function bundle(input, output) {
  const onLog = (level, log) => {
    if (level === 'warn' && log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(log.message);
  };
  const build = await rolldown({ platform: 'node', resolve: { alias }, onLog, ...input });
  try {
    const written = await build.write({ format: 'esm', entryFileNames: '[name].js', ...output });
    const lost = written.output.find((chunk) => /\brequire\d*\(\s*["'`]\.{1,2}\//.test(chunk.code ?? ''));
    if (lost !== undefined) throw new Error(`${lost.fileName} loads a file by 'require' that is not in the bundle`);
    const modules = written.output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
    return new Set(modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]).filter(Boolean));
  } finally {
    await build.close();
  }
}

/** What Node loads of it finds its parts by a `require` that bundlers do not follow. */
const alias = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' };
