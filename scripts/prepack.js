/** npm runs this before it packs, so that a package has a fresh build. Without the build tools, it says what to do. */
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
if (existsSync(join(root, 'node_modules/typescript')))
  execSync('npm run -s build', { cwd: root, stdio: ['ignore', 2, 2] });
else {
  process.stderr.write('stopgate: this clone cannot be built yet; run "npm ci" first, then "npm pack" again\n');
  process.exitCode = 1;
}
