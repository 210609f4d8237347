/** Compares two folds of one log under different policies. No check is run. */
import { describe, expect, test } from 'vitest';
import { createWhatIf, type Difference, type PolicySet, parseIsoTime, readEntry } from '../../../../machines/index.ts';

const at = (clock: string) => `2026-03-02T${clock.length === 5 ? `${clock}:00` : clock}.000Z`;
type Line = readonly [clock: string, tail: string, data?: object];

/** Policies as in a `policy.set` entry, in the form of the configuration. */
function policySet(policies: object): PolicySet {
  const text = JSON.stringify({ policies });
  const entry = readEntry('stopgate.main.own.fleet.main.policy.set', text, text.length);
  if (entry === null || !('data' in entry) || entry.type !== 'policy.set') return expect.unreachable();
  return entry.data;
}

function whatIf(lines: readonly Line[], policies: object, since?: string) {
  const sinceMs = since === undefined ? {} : { sinceMs: parseIsoTime(at(since)) as number };
  const compared = createWhatIf({ policies: policySet(policies), ...sinceMs });
  for (const [clock, tail, data = {}] of lines) {
    expect(compared.fold(JSON.stringify({ at: at(clock), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  }
  const early = compared.take();
  compared.end();
  return { differences: [...early, ...compared.take()], early, counts: compared.counts };
}

const own = (clock: string, policies: object): Line => [clock, 'own.fleet.main.policy.set', { policies }];
const stop = (clock: string, attempt: string, data: object = {}): Line => [
  clock,
  'worker.w1.stop.attempted',
  { attempt, ...data },
];
const finished = (clock: string, attempt: string, check: string, outcome: string): Line => [
  clock,
  'own.worker.w1.check.finished',
  { attempt, check, outcome },
];
const plan = (clock: string, status: string): Line => [
  clock,
  'worker.w1.plan.updated',
  { steps: [{ title: 'Write tests', status }] },
];
const prompt = (clock: string): Line => [clock, 'worker.w1.prompt.submitted', { text: 'go on' }];
/** `a1: allow complete -> block incomplete` */
const brief = ({ attempt, before, ...rest }: Difference) =>
  `${attempt}: ${before.decision} ${before.cause} -> ${
    rest.after === null ? `unknown ${rest.check}` : `${rest.after.decision} ${rest.after.cause}`
  }`;

describe('decisions', () => {
  test('that differ are reported with both, those that do not are counted', () => {
    const lines = [plan('12:00', 'pending'), stop('12:01', 'a1'), plan('12:02', 'done'), stop('12:03', 'a2')];
    const { differences, counts } = whatIf(lines, { default: { checks: [{ plan: {} }] } });
    expect(differences.map(brief)).toEqual([
      'a1: allow no-policy -> block incomplete',
      'a2: allow no-policy -> allow complete',
    ]);
    expect(differences[0]).toMatchObject({
      worker: 'w1',
      at: at('12:01'),
      before: { reason: 'No check or hook was set for this stop' },
      after: {
        reason: '1 of 1 plan steps remain: Write tests',
        verdicts: expect.arrayContaining([expect.objectContaining({ guard: 'checks', verdict: 'block' })]),
      },
    });
    expect(counts).toEqual({ attempts: 2, differ: 2, unknown: 0 });
  });

  test('under the same policies never differ', () => {
    const same = { default: { retries: 1, checks: [{ plan: {} }, { remote: 'scan', timeout: '10s' }] } };
    const lines = [
      own('12:00', same),
      plan('12:00', 'pending'),
      stop('12:01', 'a1'),
      stop('12:02', 'a2'),
      prompt('12:03'),
      plan('12:03', 'done'),
      stop('12:04', 'a3'),
      finished('12:04:05', 'a3', 'scan', 'fail'),
      stop('12:05', 'a4'),
      prompt('12:05:01'),
      stop('12:06', 'a5'),
      prompt('12:09'),
    ];
    const { differences, counts } = whatIf(lines, same);
    expect(differences.map(brief)).toEqual([]);
    expect(counts).toEqual({ attempts: 5, differ: 0, unknown: 0 });
  });

  test('affect the next ones: with a retry limit of 1 the second stop is allowed', () => {
    const lines = [
      own('12:00', { default: { checks: [{ plan: {} }] } }),
      plan('12:00', 'pending'),
      stop('12:01', 'a1'),
      stop('12:02', 'a2'),
    ];
    const { differences } = whatIf(lines, { default: { retries: 1, checks: [{ plan: {} }] } });
    expect(differences.map(brief)).toEqual(['a2: block incomplete -> allow capped']);
  });

  test('are compared from a given time on; earlier ones stay the same', () => {
    const lines = [
      own('12:00', { default: { checks: [{ plan: {} }] } }),
      plan('12:00', 'pending'),
      stop('12:01', 'a1'),
      stop('12:02', 'a2'),
      stop('12:03', 'a3'),
    ];
    const { differences, counts } = whatIf(lines, { default: { retries: 1, checks: [{ plan: {} }] } }, '12:03');
    expect(differences.map(brief)).toEqual(['a3: block incomplete -> allow capped']); // the block of a1 and a2 count
    expect(counts.attempts).toBe(1);
  });

  test('that differ only in their texts are the same', () => {
    const lines = [own('12:00', { default: { checks: [{ rules: ['a'] }] } }), stop('12:01', 'a1')];
    expect(whatIf(lines, { default: { checks: [{ rules: ['b'] }] } }).differences).toEqual([]);
  });

  test('that a hold keeps open are made when it ends, or are undetermined if the log ends before', () => {
    const held = { default: { persistence: { idle: '12m', hold: '50s' } } };
    const lines = [stop('12:01', 'a1'), prompt('12:02'), stop('12:03', 'a2')];
    const { differences, early } = whatIf(lines, held);
    expect(early.map(brief)).toEqual(['a1: allow no-policy -> block idle']);
    expect(differences.slice(1).map(brief)).toEqual(['a2: allow no-policy -> unknown null']);
  });

  test('a repeated attempt counts once', () => {
    expect(whatIf([stop('12:01', 'a1'), stop('12:02', 'a1')], { default: {} }).counts.attempts).toBe(1);
  });
});

describe('answers of checks come from the log', () => {
  const tests = { remote: 'tests', onError: 'block' };
  const scan = { remote: 'scan' };
  const log = (checks: object[]) => own('12:00', { default: { checks } });

  test('regardless of how the other policies use them', () => {
    const lines = [log([tests]), stop('12:01', 'a1'), finished('12:01:03', 'a1', 'tests', 'error')];
    const { differences } = whatIf(lines, { default: { checks: [{ remote: 'tests', onError: 'escalate' }] } });
    expect(differences.map(brief)).toEqual(['a1: block incomplete -> allow escalated']);
  });

  test('in another order and by another name', () => {
    const lines = [
      log([tests, scan]),
      stop('12:01', 'a1'),
      finished('12:01:03', 'a1', 'tests', 'pass'),
      finished('12:01:05', 'a1', 'scan', 'fail'),
    ];
    const checks = [{ ...scan, name: 'leaks' }, tests, { rules: ['lint'] }];
    expect(whatIf(lines, { default: { checks } }).differences.map(brief)).toEqual([]);
    expect(whatIf(lines, { default: { checks: [tests] } }).differences.map(brief)).toEqual([
      'a1: block incomplete -> allow complete',
    ]);
  });

  test('a check that was never run is undetermined, not a pass', () => {
    const lines = [log([tests]), stop('12:01', 'a1'), finished('12:01:03', 'a1', 'tests', 'pass'), prompt('12:09')];
    const { differences, counts } = whatIf(lines, { default: { checks: [tests, scan] } });
    expect(differences).toMatchObject([{ attempt: 'a1', after: null, check: 'scan', before: { cause: 'complete' } }]);
    expect(counts).toEqual({ attempts: 1, differ: 0, unknown: 1 });
  });

  test('after an undetermined decision, the state continues with the decision of the log', () => {
    const lines = [
      log([{ plan: {} }]),
      plan('12:00', 'pending'),
      stop('12:01', 'a1'),
      stop('12:02', 'a2'),
      stop('12:03', 'a3'),
      stop('12:04', 'a4'),
    ];
    const { differences } = whatIf(lines, { default: { retries: 2, checks: [scan] } });
    expect(differences.map(brief)).toEqual([
      'a1: block incomplete -> unknown scan',
      'a2: block incomplete -> unknown scan',
      'a3: block incomplete -> unknown scan',
      'a4: allow capped -> unknown scan',
    ]);
  });

  test('of an attempt that was open when the other policies took effect are those of the log', () => {
    const policies = { default: { retries: 1, checks: [tests] } };
    const lines = [
      own('12:00', policies),
      stop('12:01', 'a1'),
      finished('12:01:30', 'a1', 'tests', 'pass'),
      stop('12:03', 'a2'),
      finished('12:03:30', 'a2', 'tests', 'fail'),
    ];
    const { differences, counts } = whatIf(lines, policies, '12:01:10');
    expect(differences.map(brief)).toEqual([]);
    expect(counts.attempts).toBe(1);
  });

  test('an answer about other files does not count', () => {
    const lines = [log([{ files: ['a.md'] }]), stop('12:01', 'a1'), finished('12:01:03', 'a1', 'files', 'pass')];
    expect(whatIf(lines, { default: { checks: [{ files: ['b.md'] }] } }).differences).toMatchObject([
      { after: null, check: 'files' },
    ]);
    expect(whatIf(lines, { default: { checks: [{ files: ['a.md'] }] } }).differences).toEqual([]);
  });

  test('that are too late for a shorter timeout do not count; a longer timeout is undetermined', () => {
    const asked = (timeout: string) => ({ default: { checks: [{ ...tests, timeout }] } });
    const late = [own('12:00', asked('60s')), stop('12:01', 'a1'), finished('12:01:40', 'a1', 'tests', 'pass')];
    expect(whatIf(late, asked('10s')).differences.map(brief)).toEqual(['a1: allow complete -> block incomplete']);
    const never = [own('12:00', asked('60s')), stop('12:01', 'a1'), prompt('12:05')];
    expect(whatIf(never, asked('30s')).differences.map(brief)).toEqual([]);
    expect(whatIf(never, asked('90s')).differences.map(brief)).toEqual(['a1: block incomplete -> unknown tests']);
    const said = [own('12:00', asked('60s')), stop('12:01', 'a1'), finished('12:01:59', 'a1', 'tests', 'timeout')];
    expect(whatIf(said, asked('90s')).differences.map(brief)).toEqual(['a1: block incomplete -> unknown tests']);
  });

  test('a wait that ends by time before the log has an attempt is undetermined', () => {
    const lines = [
      log([{ ...tests, timeout: '60s' }, scan]),
      stop('12:01', 'a1'),
      finished('12:01:50', 'a1', 'tests', 'pass'),
      finished('12:01:55', 'a1', 'scan', 'fail'),
    ];
    const { differences } = whatIf(lines, { default: { checks: [{ ...scan, timeout: '5s' }] } });
    expect(differences.map(brief)).toEqual(['a1: block incomplete -> unknown scan']);
  });

  test('an answer without a matching question in the log does not count', () => {
    const lines = [stop('12:01', 'a1'), finished('12:01:03', 'a1', 'tests', 'fail'), prompt('12:09')];
    const { differences } = whatIf(lines, { default: { checks: [tests] } });
    expect(differences.map(brief)).toEqual(['a1: allow no-policy -> unknown tests']);
  });

  test('of a remote hook count under both policies', () => {
    const lines: Line[] = [
      ['12:00', 'task.T-1.hook.registered', { hook: 'h1', type: 'remote', name: 'scan' }],
      ['12:00', 'worker.w1.task.claimed', { task: 'T-1' }],
      stop('12:01', 'a1'),
      finished('12:01:03', 'a1', 'scan', 'fail'),
    ];
    const { differences, counts } = whatIf(lines, { default: { retries: 5 } });
    expect({ differences, counts }).toEqual({ differences: [], counts: { attempts: 1, differ: 0, unknown: 0 } });
  });
});

test('a bad line is reported, and the others are folded', () => {
  const compared = createWhatIf({ policies: policySet({ default: { checks: [{ plan: {} }] } }) });
  expect(compared.fold('{')).toContain('is not JSON');
  const message = { seq: 7, atMs: 1_000, subject: 'stopgate.main.worker.w1.stop.attempted', text: '{}', bytes: 2 };
  expect(compared.foldMessage({ ...message, text: '{' })).toContain('stop.attempted: ');
  expect(compared.foldMessage(message)).toBeNull();
  expect(compared.take()).toMatchObject([{ attempt: 'seq-7', after: { cause: 'complete' } }]);
});

test('of one worker: decisions about others are neither counted nor reported', () => {
  const compared = createWhatIf({ policies: policySet({ default: { checks: [{ plan: {} }] } }), worker: 'w2' });
  const publish = (clock: string, tail: string, data: object) =>
    expect(compared.fold(JSON.stringify({ at: at(clock), subject: `stopgate.main.${tail}`, data }))).toBeNull();
  for (const worker of ['w1', 'w2', 'w3']) {
    publish('12:00', `worker.${worker}.plan.updated`, { steps: [{ title: 'Write tests', status: 'pending' }] });
    publish('12:01', `worker.${worker}.stop.attempted`, { attempt: `a-${worker}` });
  }
  compared.end();
  expect(compared.take().map(({ worker }) => worker)).toEqual(['w2']);
  expect(compared.counts).toEqual({ attempts: 1, differ: 1, unknown: 0 });
});
