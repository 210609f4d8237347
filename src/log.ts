/** Logging: JSON lines on stderr, since stdout is for results. Data first, then a short constant message. */
import { type DestinationStream, destination, type Logger as PinoLogger, pino } from 'pino';
import { traceIds } from './telemetry/tracing.ts';
import { escapeControls } from './text/json-text.ts';

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & {
  child(bindings: Record<string, unknown>): Logger;
};
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** @param to the destination; by default stderr, written synchronously */
export function createLogger(level: LogLevel, to: DestinationStream = destination({ fd: 2, sync: true })): Logger {
  return pino(
    {
      level,
      base: {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: traceIds,
    },
    { write: (line) => to.write(escapeControls(line)) },
  );
}
