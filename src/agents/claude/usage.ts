/** Lets Claude Code send its events to the service's OTLP receiver. Seen with 2.1.330. */
import { join } from 'node:path';
import { z } from 'zod';
import type { Line } from '../setup/line.ts';
import { readSettings, receiverFor, type UsageSetup, usageVariables } from '../setup/usage.ts';

const variable = (name: string, valueFor: (line: Line) => string) => ({ name, mark: `STOPGATE_${name}`, valueFor });

const envSchema = z.object({ env: z.record(z.string(), z.unknown()) });

export const usage: UsageSetup = {
  // Else a repository could send what its visitors do to anybody.
  scopes: ['user'],
  // Events alone: its metrics say the same once more. The prompts stay out of them, by its own default.
  settings: usageVariables([
    variable('CLAUDE_CODE_ENABLE_TELEMETRY', () => '1'),
    variable('OTEL_LOGS_EXPORTER', () => 'otlp'),
    variable('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', () => 'http/json'),
    variable('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', (line) => receiverFor(line, '/v1/logs')),
  ]),
  environment: null,
  target({ env, home }) {
    const file = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
    const set = { ...env, ...envSchema.safeParse(readSettings(file)).data?.env };
    if (set.CLAUDE_CODE_ENABLE_TELEMETRY === undefined || !String(set.OTEL_LOGS_EXPORTER).includes('otlp')) return null;
    const target = set.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT ?? set.OTEL_EXPORTER_OTLP_ENDPOINT;
    return typeof target === 'string' ? target : null;
  },
  inDollars: true,
};
