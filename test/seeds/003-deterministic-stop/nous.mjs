#!/usr/bin/env node
/**
 * A stand-in for seed 003's validator: `nous validate --dir DIR --execution`. It holds DIR/findings.json against a
 * schema, prints what differs as JSON on stdout, and exits with 0 (valid) or 1 (not yet). Other words end it with 2.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [verb, ...flags] = process.argv.slice(2);
const dir = flags[flags.indexOf('--dir') + 1];
if (verb !== 'validate' || dir === undefined || !flags.includes('--execution')) process.exit(2);

const schema = { claim: 'string', confidence: 'number', evidence: 'array' };
const typeOf = (value) => (Array.isArray(value) ? 'array' : typeof value);

const file = join(dir, 'findings.json');
const findings = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
const missing = Object.keys(schema).filter((key) => findings?.[key] === undefined);
const wrong = Object.entries(schema)
  .filter(([key, type]) => !missing.includes(key) && typeOf(findings[key]) !== type)
  .map(([key, type]) => ({ path: key, expected: type, got: typeOf(findings[key]) }));

process.stdout.write(JSON.stringify(findings === null ? { file: 'findings.json', missing: true } : { missing, wrong }));
process.exit(findings !== null && missing.length + wrong.length === 0 ? 0 : 1);
