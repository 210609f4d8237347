/** Replaces Node modules that use threads or real time with simulated ones. */
import { join } from 'node:path';
import { root } from '../../support/bundle.mjs';

const simulated = { 'node:zlib': 'zlib.ts', 'node:timers/promises': 'timers.ts', 'node:fs/promises': 'fs.ts' };
/** Others that use them are not run here, and need more of them. */
const importers = ['src/nats/snapshots/', 'src/host/'].map((it) => join(root, it));

export const simulatedModules = {
  name: 'simulated modules',
  enforce: 'pre',
  resolveId: (id, importer) =>
    Object.hasOwn(simulated, id) && importers.some((it) => importer?.startsWith(it))
      ? join(root, 'test/simulation/modules', simulated[id])
      : null,
};
