/**
 * Recorded OTLP data of agents, as tables: each request to a model, and some neighbouring events. The attributes
 * are reduced to those about sessions, events, models and counts, without personal data, paths and prompts.
 */

/** A text, a JSON integer, or any other value in OTLP form: some agents write integers as texts, or empty texts. */
type Value = string | number | Readonly<Record<string, unknown>>;
type Attributes = Readonly<Record<string, Value>>;
type Log = readonly [body: string | null, timeUnixNano: string, observedTimeUnixNano: string, attributes: Attributes];
type Span = readonly [traceId: string, spanId: string, name: string, attributes: Attributes];
/** The temporality of a sum that reports its growth since the last export. */
type Point = readonly [metric: string, startTimeUnixNano: string, timeUnixNano: string, asDouble: number, Attributes];

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => {
    if (typeof value === 'string') return { key, value: { stringValue: value } };
    return { key, value: typeof value === 'number' ? { intValue: value } : value };
  });
const resourceOf = (service: string) => ({ attributes: attributesOf({ 'service.name': service }) });

const logsOf = (service: string, records: readonly Log[]) => ({
  resourceLogs: [
    {
      resource: resourceOf(service),
      scopeLogs: [
        {
          scope: { name: service },
          logRecords: records.map(([body, timeUnixNano, observedTimeUnixNano, attributes]) => ({
            timeUnixNano,
            observedTimeUnixNano,
            body: body === null ? null : { stringValue: body },
            attributes: attributesOf(attributes),
            droppedAttributesCount: 0,
          })),
        },
      ],
    },
  ],
});

const tracesOf = (service: string, spans: readonly Span[]) => ({
  resourceSpans: [
    {
      resource: resourceOf(service),
      scopeSpans: [
        {
          scope: { name: service },
          spans: spans.map(([traceId, spanId, name, attributes]) => ({
            traceId,
            spanId,
            name,
            attributes: attributesOf(attributes),
          })),
        },
      ],
    },
  ],
});

const metricsOf = (service: string, points: readonly Point[]) => ({
  resourceMetrics: [
    {
      resource: resourceOf(service),
      scopeMetrics: [
        {
          scope: { name: service },
          metrics: points.map(([name, startTimeUnixNano, timeUnixNano, asDouble, attributes]) => ({
            name,
            sum: {
              aggregationTemporality: 1,
              isMonotonic: true,
              dataPoints: [{ attributes: attributesOf(attributes), startTimeUnixNano, timeUnixNano, asDouble }],
            },
          })),
        },
      ],
    },
  ],
});

/** Claude Code 2.1.330. */
export const claudeCode = {
  logs: logsOf('claude-code', [
    [
      'claude_code.tool_decision',
      '1795461660996000000',
      '1795461660996000000',
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        'event.name': 'tool_decision',
        'event.timestamp': '2026-11-23T19:21:00.996Z',
        'event.sequence': 5,
        'prompt.id': '9115faff-1cb3-4fc3-b6ac-c275c8a4167a',
      },
    ],
    [
      'claude_code.api_request',
      '1795461661024000000',
      '1795461661024000000',
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        'event.name': 'api_request',
        'event.timestamp': '2026-11-23T19:21:01.024Z',
        'event.sequence': 6,
        'prompt.id': '9115faff-1cb3-4fc3-b6ac-c275c8a4167a',
        model: 'claude-opus-5-5',
        input_tokens: 1,
        output_tokens: 1,
        cache_read_tokens: 0,
        cache_creation_tokens: 0,
        cache_creation_5m_tokens: 0,
        cache_creation_1h_tokens: 0,
        cost_usd: { doubleValue: 2.3999999999999997e-5 },
        query_source: 'sdk',
      },
    ],
    [
      'claude_code.api_request',
      '1795461661498000000',
      '1795461661498000000',
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        'event.name': 'api_request',
        'event.timestamp': '2026-11-23T19:21:01.498Z',
        'event.sequence': 8,
        'prompt.id': '9115faff-1cb3-4fc3-b6ac-c275c8a4167a',
        model: 'claude-opus-5-5',
        input_tokens: 1,
        output_tokens: 1,
        cache_read_tokens: 0,
        cache_creation_tokens: 0,
        cache_creation_5m_tokens: 0,
        cache_creation_1h_tokens: 0,
        cost_usd: { doubleValue: 2.3999999999999997e-5 },
        query_source: 'sdk',
      },
    ],
  ]),
  metrics: metricsOf('claude-code', [
    [
      'claude_code.session.count',
      '1795461660265000000',
      '1795461661652000000',
      1,
      { 'session.id': '088f314d-5f44-47af-9aca-cec166154719' },
    ],
    [
      'claude_code.cost.usage',
      '1795461660987000000',
      '1795461661652000000',
      4.7999999999999994e-5,
      { 'session.id': '088f314d-5f44-47af-9aca-cec166154719', model: 'claude-opus-5-5', query_source: 'main' },
    ],
    [
      'claude_code.token.usage',
      '1795461660987000000',
      '1795461661652000000',
      2,
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        model: 'claude-opus-5-5',
        query_source: 'main',
        type: 'input',
      },
    ],
    [
      'claude_code.token.usage',
      '1795461660987000000',
      '1795461661652000000',
      2,
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        model: 'claude-opus-5-5',
        query_source: 'main',
        type: 'output',
      },
    ],
    [
      'claude_code.token.usage',
      '1795461660987000000',
      '1795461661652000000',
      0,
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        model: 'claude-opus-5-5',
        query_source: 'main',
        type: 'cacheRead',
      },
    ],
    [
      'claude_code.token.usage',
      '1795461660987000000',
      '1795461661652000000',
      0,
      {
        'session.id': '088f314d-5f44-47af-9aca-cec166154719',
        model: 'claude-opus-5-5',
        query_source: 'main',
        type: 'cacheCreation',
      },
    ],
    [
      'claude_code.active_time.total',
      '1795461661557000000',
      '1795461661652000000',
      1.039,
      { 'session.id': '088f314d-5f44-47af-9aca-cec166154719', type: 'cli' },
    ],
  ]),
};

/** Codex 0.169.0. */
export const codex = {
  logs: logsOf('codex_exec', [
    ['flushing OTEL metrics', '0', '1795461662604650234', {}],
    [
      null,
      '0',
      '1795461662507814886',
      {
        'event.name': 'codex.api_request',
        'event.timestamp': '2026-11-23T19:21:02.507Z',
        'conversation.id': '01a209da-c697-7031-b692-18b46d0c549d',
        model: 'fake-model',
      },
    ],
    [
      null,
      '0',
      '1795461662520734742',
      {
        'event.name': 'codex.sse_event',
        'event.kind': 'response.created',
        'event.timestamp': '2026-11-23T19:21:02.520Z',
        'conversation.id': '01a209da-c697-7031-b692-18b46d0c549d',
        model: 'fake-model',
      },
    ],
    [
      null,
      '0',
      '1795461662520887625',
      {
        'event.name': 'codex.sse_event',
        'event.kind': 'response.output_item.done',
        'event.timestamp': '2026-11-23T19:21:02.520Z',
        'conversation.id': '01a209da-c697-7031-b692-18b46d0c549d',
        model: 'fake-model',
      },
    ],
    [
      null,
      '0',
      '1795461662520968159',
      {
        'event.name': 'codex.sse_event',
        'event.kind': 'response.completed',
        'event.timestamp': '2026-11-23T19:21:02.520Z',
        'conversation.id': '01a209da-c697-7031-b692-18b46d0c549d',
        model: 'fake-model',
      },
    ],
    [
      null,
      '0',
      '1795461662524459631',
      {
        'event.name': 'codex.sse_event',
        'event.kind': 'response.completed',
        input_token_count: '1',
        output_token_count: '1',
        cached_token_count: { intValue: '0' },
        cache_write_token_count: { intValue: '0' },
        reasoning_token_count: { intValue: '0' },
        tool_token_count: '2',
        'event.timestamp': '2026-11-23T19:21:02.524Z',
        'conversation.id': '01a209da-c697-7031-b692-18b46d0c549d',
        model: 'fake-model',
      },
    ],
  ]),
};

/** Gemini CLI 0.61.0. */
export const gemini = {
  logs: logsOf('gemini-cli', [
    [
      'API request to gemini-2.5-flash.',
      '1795471931254000000',
      '1795471931254000000',
      {
        'session.id': 'fce05901-4ac8-403f-a584-c49e333657a3',
        'event.name': 'gemini_cli.api_request',
        'event.timestamp': '2026-11-23T22:12:11.254Z',
        model: 'gemini-2.5-flash',
      },
    ],
    [
      'GenAI operation request details from gemini-2.5-flash.',
      '1795471931255000000',
      '1795471931255000000',
      {
        'session.id': 'fce05901-4ac8-403f-a584-c49e333657a3',
        'event.name': 'gen_ai.client.inference.operation.details',
        'event.timestamp': '2026-11-23T22:12:11.254Z',
        'gen_ai.request.choice.count': {},
        'gen_ai.request.seed': {},
        'gen_ai.request.frequency_penalty': {},
        'gen_ai.request.presence_penalty': {},
        'gen_ai.request.max_tokens': {},
        'gen_ai.output.type': {},
        'gen_ai.request.stop_sequences': {},
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.request.model': 'gemini-2.5-flash',
      },
    ],
    [
      'API response from scripted. Status: 200. Duration: 422ms.',
      '1795471931678000000',
      '1795471931678000000',
      {
        'session.id': 'fce05901-4ac8-403f-a584-c49e333657a3',
        'event.name': 'gemini_cli.api_response',
        'event.timestamp': '2026-11-23T22:12:11.677Z',
        model: 'scripted',
        input_token_count: 100,
        output_token_count: 30,
        cached_content_token_count: 60,
        thoughts_token_count: 20,
        tool_token_count: 5,
        total_token_count: 155,
      },
    ],
    [
      'API response from scripted. Status: 200. Duration: 25ms.',
      '1795471931814000000',
      '1795471931814000000',
      {
        'session.id': 'fce05901-4ac8-403f-a584-c49e333657a3',
        'event.name': 'gemini_cli.api_response',
        'event.timestamp': '2026-11-23T22:12:11.814Z',
        model: 'scripted',
        input_token_count: 100,
        output_token_count: 30,
        cached_content_token_count: 60,
        thoughts_token_count: 20,
        tool_token_count: 5,
        total_token_count: 155,
      },
    ],
    [
      'GenAI operation details from scripted. Status: 200. Duration: 422ms.',
      '1795471931679000000',
      '1795471931679000000',
      {
        'session.id': 'fce05901-4ac8-403f-a584-c49e333657a3',
        'event.name': 'gen_ai.client.inference.operation.details',
        'event.timestamp': '2026-11-23T22:12:11.677Z',
        'gen_ai.response.id': {},
        'gen_ai.request.choice.count': {},
        'gen_ai.request.seed': {},
        'gen_ai.request.frequency_penalty': {},
        'gen_ai.request.presence_penalty': {},
        'gen_ai.request.max_tokens': {},
        'gen_ai.output.type': {},
        'gen_ai.request.stop_sequences': {},
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.request.model': 'scripted',
        'gen_ai.response.model': 'scripted',
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 30,
      },
    ],
  ]),
};

/** Qwen Code 0.24.4. */
export const qwen = {
  logs: logsOf('qwen-code', [
    [
      'API request to scripted.',
      '1795471938506000000',
      '1795471938506000000',
      {
        'session.id': '4bd8e312-265f-462f-877a-ba16b7666585',
        'event.name': 'qwen-code.api_request',
        'event.timestamp': '2026-11-23T22:12:18.506Z',
        model: 'scripted',
        request_text: {},
        subagent_name: {},
      },
    ],
    [
      'API response from scripted. Status: 200. Duration: 496ms.',
      '1795471939003000000',
      '1795471939003000000',
      {
        'session.id': '4bd8e312-265f-462f-877a-ba16b7666585',
        'event.name': 'qwen-code.api_response',
        'event.timestamp': '2026-11-23T22:12:19.003Z',
        model: 'scripted',
        input_token_count: 100,
        output_token_count: 50,
        cached_content_token_count: 60,
        thoughts_token_count: 20,
        total_token_count: 150,
        response_text: {},
        subagent_name: {},
      },
    ],
    [
      'API response from scripted. Status: 200. Duration: 30ms.',
      '1795471939306000000',
      '1795471939306000000',
      {
        'session.id': '4bd8e312-265f-462f-877a-ba16b7666585',
        'event.name': 'qwen-code.api_response',
        'event.timestamp': '2026-11-23T22:12:19.305Z',
        model: 'scripted',
        input_token_count: 100,
        output_token_count: 50,
        cached_content_token_count: 60,
        thoughts_token_count: 20,
        total_token_count: 150,
        response_text: {},
        subagent_name: {},
      },
    ],
  ]),
};

/** Copilot CLI 1.0.102. */
export const copilot = {
  traces: tracesOf('github-copilot', [
    [
      'effbcac97bb742d4b617b427d11a8eef',
      '5922f46e1ac3bfe7',
      'execute_tool bash bash',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.conversation.id': '832a8b7f-f5e1-40f7-88f7-b489df691a15' },
    ],
    [
      'effbcac97bb742d4b617b427d11a8eef',
      '4abd573248c4ff2b',
      'chat scripted',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'scripted',
        'gen_ai.conversation.id': '832a8b7f-f5e1-40f7-88f7-b489df691a15',
        'gen_ai.usage.input_tokens': { intValue: '100' },
        'gen_ai.usage.output_tokens': { intValue: '50' },
        'gen_ai.usage.cache_read.input_tokens': { intValue: '60' },
        'gen_ai.usage.reasoning.output_tokens': { intValue: '20' },
        'gen_ai.response.model': 'scripted',
      },
    ],
    [
      'effbcac97bb742d4b617b427d11a8eef',
      '62777a964b1df133',
      'chat scripted',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'scripted',
        'gen_ai.conversation.id': '832a8b7f-f5e1-40f7-88f7-b489df691a15',
        'gen_ai.usage.input_tokens': { intValue: '100' },
        'gen_ai.usage.output_tokens': { intValue: '50' },
        'gen_ai.usage.cache_read.input_tokens': { intValue: '60' },
        'gen_ai.usage.reasoning.output_tokens': { intValue: '20' },
        'gen_ai.response.model': 'scripted',
      },
    ],
    [
      'effbcac97bb742d4b617b427d11a8eef',
      '619c3e11dc8bdd6e',
      'invoke_agent',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.conversation.id': '832a8b7f-f5e1-40f7-88f7-b489df691a15',
        'gen_ai.usage.input_tokens': { intValue: '200' },
        'gen_ai.usage.output_tokens': { intValue: '100' },
      },
    ],
  ]),
};
