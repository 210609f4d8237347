/**
 * npm runs this in every clone. It builds only when npm installs from a git URL, where nothing else would. In a normal
 * clone, `npm start`, `npm test` and `npm run build` build.
 */
import { execSync } from 'node:child_process';

// biome-ignore lint/style/noProcessEnv: npm gives no other sign
const isInstalledFromGit = process.env._PACOTE_NO_PREPARE_ !== undefined; // set by npm in its temporary clone
if (isInstalledFromGit) execSync('npm run -s build', { stdio: ['ignore', 2, 2] });
