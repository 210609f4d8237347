/** Runs a TypeScript test program: bundles it with vite into a temporary file. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param entry its `main.ts`, from the root
 * @param plugins vite's
 * @returns the bundle's path, at the same depth in the repository as its source, and a function that removes it
 */
export async function bundle(entry, plugins = []) {
  const outDir = await mkdtemp(join(root, 'node_modules', '.bundle-'));
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins,
    build: { ssr: entry, outDir, target: 'node20', minify: false, sourcemap: true },
  });
  return { file: join(outDir, 'main.js'), remove: () => rm(outDir, { recursive: true, force: true }) };
}

/** Runs `main` of `entry` with this process's arguments. Its result is the exit code. @param plugins for vite */
export async function runMain(entry, plugins = []) {
  const { file, remove } = await bundle(entry, plugins);
  try {
    const { main } = await import(pathToFileURL(file).href);
    process.exitCode = await main(process.argv.slice(2));
  } finally {
    await remove();
  }
}
