/** Bundles the simulation and runs it: `npm run test:sim`. A bug may be planted on the way (bugs.mjs). */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** @param plugins vite's. @returns the bundle's file, and what removes it */
export async function bundle(plugins = []) {
  const outDir = await mkdtemp(join(root, 'node_modules', '.simulation-'));
  await build({
    ...{ root, configFile: false, logLevel: 'error', plugins },
    build: { ssr: 'test/simulation/main.ts', outDir, target: 'node20', minify: false, sourcemap: true },
  });
  return { file: join(outDir, 'main.js'), remove: () => rm(outDir, { recursive: true, force: true }) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { file, remove } = await bundle();
  try {
    const { main } = await import(pathToFileURL(file).href);
    process.exitCode = await main(process.argv.slice(2));
  } finally {
    await remove();
  }
}
