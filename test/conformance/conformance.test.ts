/** Runs the conformance cases (entries in, decisions out) like `stopgate test`. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCase } from '../../src/cli/commands/tools/policy-cases.ts';
import { caseFile } from '../../src/config/case-schema.ts';

const folder = new URL('.', import.meta.url);
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const { topic, cases } = caseFile.parse(JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
  describe(topic ?? file, () => {
    for (const each of cases) {
      it(each.name, () => {
        const policies = each.policy as Record<string, unknown> | undefined;
        expect(runCase(each, policies === undefined ? null : { policies })).toEqual([]);
      });
    }
  });
}
