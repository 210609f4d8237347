/** Generates the JSON Schemas (draft 2020-12) of the package from the schemas of the service. */
import { z } from 'zod';
import { decisionSchema, entrySchemas } from '../../machines/index.ts';
import { checkKinds } from '../../machines/policy/checks/kinds.ts';
import { caseFile } from './case-schema.ts';
import { fileForm } from './file-schema.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const draft = 'https://json-schema.org/draft/2020-12/schema';

/** The schema of stopgate.yaml for editors (`# yaml-language-server: $schema=…`). Unknown keys are errors. */
export function stopgateYamlSchema(): JsonSchema {
  return { $schema: draft, title: 'stopgate.yaml', ...toJsonSchema(fileForm.describe('Configuration of stopgate')) };
}

/**
 * The payloads of all entries, and the decision. Under `$defs`, named by the subject after the fleet, without the id:
 * `worker.tool.used`, `own.task.check.finished`, `decision`. Unknown fields are valid: the service ignores them.
 */
export function entriesSchema(): JsonSchema {
  const payloads: Record<string, z.ZodType> = { decision: decisionSchema };
  for (const [area, schemas] of Object.entries(entrySchemas)) {
    const prefix = area.replace(/^own/, 'own.').toLowerCase();
    for (const [type, schema] of Object.entries(schemas)) payloads[`${prefix}.${type}`] = schema;
  }
  const { properties, $defs } = toJsonSchema(z.object(payloads));
  return { $schema: draft, title: "Entries of stopgate's log", $defs: { ...(properties as typeof $defs), ...$defs } };
}

/** The schema of a case file for `stopgate test`. Policies in a case have the schema of stopgate.yaml. */
export function caseFileSchema(): JsonSchema {
  const { policies } = stopgateYamlSchema().properties as Record<string, JsonSchema>;
  const { $defs } = stopgateYamlSchema();
  const schema = z.toJSONSchema(caseFile, {
    io: 'input',
    unrepresentable: 'any',
    override({ path, jsonSchema }) {
      if (path.at(-1) !== 'policy') return;
      const { description = '' } = jsonSchema;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      Object.assign(jsonSchema, { description, anyOf: [{ type: 'string' }, policies] });
    },
  });
  return { title: 'Cases of stopgate test', ...schema, $schema: draft, $defs: { ...$defs, ...schema.$defs } };
}

/** zod numbers recursive schemas (`__schema0`). This gives them names, and requires exactly one kind per check. */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  let text = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  const { $defs: numbered = {} } = JSON.parse(text) as JsonSchema;
  for (const [number, { properties = {} }] of Object.entries(numbered)) {
    text = text.replaceAll(`${number}"`, `${'plan' in properties ? 'check' : 'hook'}"`);
  }
  const named = JSON.parse(text) as JsonSchema;
  const check = named.$defs?.check;
  if (check !== undefined) check.oneOf = Object.keys(checkKinds).map((kind) => ({ required: [kind] }));
  return named;
}
