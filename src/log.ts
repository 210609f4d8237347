/** Logging: JSON lines on stderr (stdout belongs to answers). Data first, a short constant message second. */
import { type DestinationStream, destination, type Logger as PinoLogger, pino } from 'pino';
import { traceIds } from './telemetry/tracing.ts';
import { escapeControls } from './text/json-text.ts';

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'> & {
  child(bindings: Record<string, unknown>): Logger;
};
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** `to`: where the lines go; default: this process's stderr, written at once. */
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
