/** The laid-out charts, as the build writes them: see inspector/chart/write-drawings.ts. */
declare module 'stopgate:charts' {
  export const worker: import('../chart/drawing.ts').ChartDrawing;
  export const task: import('../chart/drawing.ts').ChartDrawing;
}
