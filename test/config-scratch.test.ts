import { test } from 'vitest';
import { readConfigFile } from '../src/config-file.ts';
test('x', () => {
  for (const [n, t] of Object.entries({
    aliases: `a: &a x\nb: [${Array(50000).fill('*a').join(', ')}]`,
    anchors: `b: [${Array.from({length:9000},(_, i) => `&a${i} x, *a${i}`).join(', ')}]`,
    keys: Array.from({length:20000},(_, i) => `key${i}: x`).join('\n'),
    dup: Array.from({length:20000},(_, i) => `key: x`).join('\n'),
    errs: Array.from({length:20000},(_, i) => `]`).join('\n'),
    deep: `roots: ${'[['.repeat(800)}a`,
    deepb: Array.from({length:600},(_, i) => ' '.repeat(i)+'a:').join('\n'),
    chain: 'a0: &a0 x\n' + Array.from({length:6000},(_, i) => `a${i+1}: &a${i+1} [*a${i}]`).join('\n'),
    longkey: 'x'.repeat(200000)+': 1',
    longval: 'fleet: ' + 'x'.repeat(200000),
    labels: 'policies: {' + Array.from({length:3000},(_, i) => `p${i}: {checks: [{command: c}]}`).join(', ') + '}',
    crlfbom: '\ufefffleet: a\r\nhttp: x\r\n',
    dupindoc: 'a: 1\n' + 'fleet: x\n'.repeat(2),
    cmts: 'fleet: 日本\nfoo: 1',
    proto: '__proto__: {a: 1}\ncommands: {__proto__: {run: [x]}, constructor: {run: [y]}, toString: {run: [z]}}\npolicies: {constructor: {checks: [{command: valueOf}]}}',
    yaml11: '%YAML 1.1\n---\nfleet: yes\n',
    num: 'releaseAfter: .inf', num2: 'releaseAfter: 1e3', num3: 'releaseAfter: 99999999999999999999',
    empt: 'roots:\n  -\n  - a', nulls: 'escalation:\nreleaseAfter:\nhttp:', numkeys: 'policies: {1: {}, "2": {}}',
  })) {
    const s = performance.now();
    const r = readConfigFile(t, '/x/stopgate.yaml');
    console.log(n, t.length, Math.round(performance.now() - s), 'ms', r.ok ? ['ok', JSON.stringify(r.file).slice(0, 300), r.warnings.length, r.warnings[0]] : [r.problems.length, r.problems.slice(0, 4).map(p => JSON.stringify(p).slice(0,300))]);
  }
});
