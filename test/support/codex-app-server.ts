/**
 * A fake `codex app-server` as a Node program: lists the hooks, all untrusted. A hook's hash is the length of its
 * command. `npm run test:agents` uses the real one.
 */
export const codexAppServer = `if (process.argv.includes('--version')) { console.log('codex-cli 0.171.0'); process.exit(0); }
const { readFileSync } = require('node:fs');
const file = (process.env.CODEX_HOME ?? process.env.HOME + '/.codex') + '/hooks.json';
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method !== 'hooks/list') return;
  const events = Object.entries(JSON.parse(readFileSync(file, 'utf8')).hooks);
  const hooks = events.map(([event, [{ hooks: [{ command }] }]]) => ({ key: file + ':' + event + ':0:0', command, sourcePath: file, currentHash: 'sha256:' + command.length, trustStatus: 'untrusted' }));
  console.log(JSON.stringify({ id, result: { data: [{ cwd: '/', hooks }] } }));
});`;
