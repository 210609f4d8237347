/** The variables by which Claude Code sends its events to the service's OTLP receiver. Seen with 2.1.330. */
import type { Line } from '../setup/line.ts';

const variable = (name: string, valueFor: (line: Line) => string) => ({ name, mark: `STOPGATE_${name}`, valueFor });

/** Events alone: its metrics say the same once more. The prompts stay out of them, by its own default. */
export const telemetry = [
  variable('CLAUDE_CODE_ENABLE_TELEMETRY', () => '1'),
  variable('OTEL_LOGS_EXPORTER', () => 'otlp'),
  variable('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', () => 'http/json'),
  variable('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', ({ http, fleet }) =>
    fleet === undefined ? `${http}/v1/logs` : `${http}/v1/logs?fleet=${fleet}`,
  ),
];
