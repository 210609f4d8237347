declare module '*.css';
/** The JSON Schema of stopgate.yaml, as the build writes it: see src/config/write-schema.ts. */
declare module 'stopgate:schema' {
  type Schema = import('./lab/completion.ts').Schema;
  export const properties: NonNullable<Schema['properties']>;
  export const $defs: NonNullable<Schema['$defs']>;
}
/** The laid-out charts, as the build writes them: see inspector/chart/write-drawings.ts. */
declare module 'stopgate:charts' {
  export const worker: import('../chart/drawing.ts').ChartDrawing;
  export const task: import('../chart/drawing.ts').ChartDrawing;
}
declare module 'stopgate:outlines' {
  export const worker: import('../chart/drawing.ts').Outline;
  export const task: import('../chart/drawing.ts').Outline;
}
