/**
 * npm runs it in every clone. It builds only where npm installs from a git URL: there nothing else would, and nobody
 * could. In a clone of one's own, `npm start`, `npm test` and `npm run build` do.
 */
import { execSync } from 'node:child_process';

// biome-ignore lint/style/noProcessEnv: npm says it nowhere else
const isInstalledFromGit = process.env._PACOTE_NO_PREPARE_ !== undefined; // npm's mark of the clone that it makes
if (isInstalledFromGit) execSync('npm run -s build', { stdio: ['ignore', 2, 2] });
