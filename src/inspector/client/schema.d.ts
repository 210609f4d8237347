/** The JSON Schema of stopgate.yaml, as the build writes it: see src/config/write-schema.ts. */
declare module 'stopgate:schema' {
  type Schema = import('./lab/schema-at.ts').Schema;
  export const properties: NonNullable<Schema['properties']>;
  export const $defs: NonNullable<Schema['$defs']>;
}
