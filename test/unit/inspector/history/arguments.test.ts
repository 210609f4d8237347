/** The Node arguments that the history process inherits. */
import { expect, test } from 'vitest';
import { withoutDebugger } from '../../../../src/inspector/history/history-process.ts';

test.each([
  ['--inspect-port 9230 --use-openssl-ca', '--use-openssl-ca'],
  ['--debug-port 127.0.0.1:9230 --use-openssl-ca', '--use-openssl-ca'],
  ['--require ./a.js --inspect --title x', '--require ./a.js --title x'],
  ['--inspect=0 --inspect-publish-uid http --inspect-port=9230', ''],
])('%s: no debugger options', (given, inherited) => {
  expect(withoutDebugger(given.split(' ')).join(' ')).toBe(inherited);
});
