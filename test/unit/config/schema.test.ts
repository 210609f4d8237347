/** The exported JSON Schemas agree with the service. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { entrySchemas, readEntry } from '../../../machines/index.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { entriesSchema, stopgateYamlSchema } from '../../../src/config/schema.ts';
import { exampleText } from './example.ts';

const ajv = new Ajv2020({ strictTypes: false, formats: { uri: true } });
const validateFile = ajv.compile(stopgateYamlSchema());
ajv.addSchema(entriesSchema(), 'entries');

describe('the schema of stopgate.yaml', () => {
  test('accepts the example of the protocol and an empty map', () => {
    expect([validateFile(parse(exampleText)), validateFile({})]).toEqual([true, true]);
  });

  test.each([
    ['an unknown key', 'flet: a'],
    ['an unknown key in a policy', 'policies: { a: { retry: 1 } }'],
    ['an unknown key in a nested check', 'policies: { a: { checks: [{ any: [{ all: [{ plan: {}, x: 1 }] }] }] } }'],
    ['two kinds', 'policies: { a: { checks: [{ plan: {}, files: [a] }] } }'],
    ['no kind', 'policies: { a: { checks: [{ name: a }] } }'],
    ['a bad duration', 'releaseAfter: 12x'],
    ['a bad id', 'policies: { a b: {} }'],
    ['a command without its program', 'commands: { a: { run: [] } }'],
    ['a missing key', 'assign: [{ agent: a }]'],
  ])('refuses %s, as the service does', (_what, text) => {
    expect([validateFile(parse(text)), readConfigFile(text, 'stopgate.yaml').ok]).toEqual([false, false]);
  });

  test.each([
    'plan: {}',
    'plan: ',
    'plan: { required: true }',
    'rules: [a]',
    'ran: npm test',
    'files: [a]',
    'git: { clean: true }',
    'command: a',
    'remote: a',
    'all: [{ plan: }]',
    'any: [{ plan: }]',
  ])('accepts a check %s, as the service does', (check) => {
    const text = `policies: { a: { checks: [{ ${check} }] } }`;
    expect([validateFile(parse(text)), readConfigFile(text, 'stopgate.yaml').ok]).toEqual([true, true]);
  });

  test('has descriptions for editors, and named definitions for recursive types', () => {
    const schema = stopgateYamlSchema();
    const { properties = {}, $defs = {} } = schema;
    expect(Object.keys($defs)).toEqual(['check']);
    expect(JSON.stringify(schema)).not.toContain('__schema');
    expect(schema.additionalProperties).toBe(false);
    for (const name of ['fleet', 'http', 'policies', 'commands', 'roots']) {
      expect(properties[name]).toHaveProperty('description', expect.stringMatching(/./));
    }
  });
});

describe('the schema of the entries', () => {
  const validate = (name: string, data: unknown) => ajv.validate(`entries#/$defs/${name}`, data);

  test('has every type of entry, and the decision', () => {
    const types = Object.entries(entrySchemas).flatMap(([area, schemas]) =>
      Object.keys(schemas).map((type) => `${area.replace('own', 'own.').toLowerCase()}.${type}`),
    );
    expect(Object.keys(entriesSchema().$defs ?? {}).sort()).toEqual([...types, 'check', 'decision', 'hook'].sort());
  });

  test.each([
    ['worker.tool.used', { tool: 'Bash', unknown: 1 }],
    ['worker.tool.used', {}],
    ['worker.stop.attempted', { attempt: 'a', files: ['x'], validation: [{ rule: 'r', passed: true }] }],
    ['worker.stop.attempted', { attempt: 'a b' }],
    ['worker.heartbeat.sent', {}],
    ['task.hook.registered', { type: 'all', of: [{ type: 'any', of: [{ type: 'tdd' }] }] }],
    ['task.hook.registered', { type: 'all', of: [{ type: 'x' }] }],
    [
      'own.fleet.policy.set',
      { policies: { default: { persistence: { idle: '12m' }, checks: [{ all: [{ plan: {} }] }], x: 1 } } },
    ],
    ['own.fleet.policy.set', { policies: { default: { checks: [{ all: [{}] }] } } }],
    ['own.worker.escalation.resolved', { by: 'me', verdict: 'resume' }],
    ['own.worker.escalation.resolved', { by: 'me', verdict: 'maybe' }],
  ])('judges %s %j as the fold does', (name, data) => {
    const [type, entity = ''] = [name.split('.').slice(-2).join('.'), name.split('.').at(-3)];
    const subject = `stopgate.f.${name.startsWith('own') ? 'own.' : ''}${entity}.${entity === 'fleet' ? 'f' : 'w'}.${type}`;
    const text = JSON.stringify(data);
    const entry = readEntry(subject, text, text.length);
    expect(validate(name, data)).toBe(entry !== null && !('code' in entry));
  });

  test('judges a decision', () => {
    expect(validate('decision', { v: 1 })).toBe(false);
  });
});
