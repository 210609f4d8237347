/** The laid-out charts, as the build writes them: see inspector/chart/write-drawings.ts. */
declare module 'stopgate:charts' {
  export const worker: import('../chart/drawing.ts').ChartDrawing;
  export const task: import('../chart/drawing.ts').ChartDrawing;
}
declare module 'stopgate:outlines' {
  export const worker: import('../chart/drawing.ts').Outline;
  export const task: import('../chart/drawing.ts').Outline;
}
