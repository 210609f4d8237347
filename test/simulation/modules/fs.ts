/**
 * `node:fs/promises` for the simulated service, as far as the archive needs it: one folder of files in memory. Unsynced
 * data survives until a power failure, and each call is a scheduler step.
 */
const files = new Map<string, Buffer>();

const step = () => new Promise<void>((done) => void setTimeout(done, 1));

/** Call this at the beginning of a run. */
export const clearFiles = (): void => files.clear();
/** Contents of the complete files, sorted by name. */
export const archiveFiles = (): readonly Buffer[] =>
  [...files]
    .filter(([name]) => !name.endsWith('.partial'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, bytes]) => bytes);

export const mkdir = step;

export async function open(path: string, flags: 'w' | 'r') {
  await step();
  if (flags === 'w') files.set(path, Buffer.alloc(0));
  return {
    async writeFile(bytes: Buffer) {
      await step();
      files.set(path, bytes);
    },
    sync: step,
    close: step,
  };
}

export async function readdir(folder: string): Promise<string[]> {
  await step();
  return [...files.keys()].filter((it) => it.startsWith(`${folder}/`)).map((it) => it.slice(folder.length + 1));
}

export async function readFile(path: string): Promise<Buffer> {
  await step();
  const found = files.get(path);
  if (found === undefined) throw new Error(`there is no file ${path}`);
  return found;
}

export async function rename(from: string, to: string): Promise<void> {
  const found = await readFile(from);
  files.delete(from);
  files.set(to, found);
}

export async function rm(path: string): Promise<void> {
  await step();
  files.delete(path);
}
