/** Build step: writes the JSON Schemas into dist/schema. Runs from dist, after the compiler. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { caseFileSchema, entriesSchema, stopgateYamlSchema } from './schema.ts';

const folder = new URL('../../schema/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, schema] of [
  ['stopgate', stopgateYamlSchema()],
  ['entries', entriesSchema()],
  ['cases', caseFileSchema()],
] as const) {
  writeFileSync(new URL(`${name}.schema.json`, folder), `${JSON.stringify(schema, null, 2)}\n`);
}
