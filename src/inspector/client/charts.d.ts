/** What the build has drawn: see chart/write.ts. */
declare module 'stopgate:charts' {
  export const worker: import('../chart/charts.ts').ChartDrawing;
  export const task: import('../chart/charts.ts').ChartDrawing;
}
