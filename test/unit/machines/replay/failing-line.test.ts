/** The line of a command's output that says what failed. The outputs were printed by the programs they are named after. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { failedTests, failingLine } from '../../../../machines/replay/failing-line.ts';

const outputOf = (name: string) => readFileSync(new URL(`outputs/${name}.txt`, import.meta.url), 'utf8');

test.each([
  ['vitest', ['login.test.ts'], 'AssertionError: expected 1 to be 2 // Object.is equality'],
  ['jest', ['login.test.js'], '● signs in'],
  ['jest-import', ['login.test.js'], "Cannot find module './missing.js' from 'src/login.test.js'"],
  ['playwright', ['login.spec.ts'], 'Error: expect(received).toBe(expected) // Object.is equality'],
  ['pytest', ['test_login.py'], 'E       assert 1 == 2'],
  ['go', ['TestSignsIn'], 'login_test.go:3: got 1, want 2'],
  ['go-build', [], 'vet: ./main.go:2:15: undefined: undefinedName'],
  ['cargo', ['login::signs_in'], "thread 'login::signs_in' (18188) panicked at src/lib.rs:2:37:"],
  ['cargo-build', [], 'error[E0425]: cannot find value `one` in this scope'],
  ['tsc', [], "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."],
  ['tsc-pretty', [], "a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'."],
  ['eslint', [], "a.js:1:5  error    'y' is assigned a value but never used        no-unused-vars"],
  ['npm-missing', [], 'npm error Missing script: "missing"'],
  ['npm-script', [], null],
])('%s: the tests that failed, and the line that says what did', (name, tests, line) => {
  const output = outputOf(name);
  expect(failedTests(output)).toEqual(tests);
  expect(failingLine(output)).toBe(line);
});

test.each([
  ['a total that counts a failure', '3 suites\n2 tests failed\n40 passed (3 s)', '2 tests failed'],
  ['no total without one', 'Missing key\n0 failed, no errors\n40 passed (3 s)', 'Missing key'],
  ['a line that looks like an error', 'started\nconnection refused\ndone in 3 s', 'connection refused'],
  ['the last line, if none does', 'started\ncoverage is 70 %', 'coverage is 70 %'],
  ['nothing, without a word', '\n---\n12\n', null],
])('otherwise it is %s', (_, output, line) => {
  expect(failingLine(output)).toBe(line);
});

test('an output of any length is read in bounded time', () => {
  const startedMs = process.cpuUsage().user;
  failingLine(`${'('.repeat(200)}1,`.repeat(50_000));
  failingLine(`${'a.'.repeat(140)}:1:\n`.repeat(10_000));
  failedTests(`${'[x] › '.repeat(40)}\n`.repeat(10_000));
  expect(process.cpuUsage().user - startedMs).toBeLessThan(2_000_000);
});
