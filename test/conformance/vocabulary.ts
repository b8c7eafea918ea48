/** All words of the case format that this runner knows. A case with any other word is not played: it fails. */
import { expectation } from './expectation-words.ts';
import { type Case, isObject } from './load-case.ts';
import { matcher } from './matcher-words.ts';
import { fieldsThatNeedNothing, limitsThatNeedNothing } from './needs-nothing.ts';
import {
  anything,
  fields,
  lazy,
  list,
  plainOr,
  record,
  type Shape,
  someOf,
  textLike,
  variants,
  word,
} from './shape.ts';

/** What the case says that this runner does not understand, each with its place. */
export function unknownWords(kase: Case): readonly string[] {
  const problems: string[] = [];
  caseShape(kase, 'case', (problem) => void problems.push(problem.replace(/^case\./, '')));
  return problems;
}

const free = (...names: string[]): Record<string, Shape> =>
  Object.fromEntries(names.map((name) => [name, anything]));

const rules = free(
  ...['enforce', 'strictAdjacency', 'prefill', 'contextWindowTokens', 'deepseekReasoning'],
  ...['uniqueToolCallIds', 'requireValidArgs', 'knownBlockTypes', 'toolUseNamePattern'],
  ...['maxBodyBytes', 'requireAuth', 'requireVersion', 'signatureBoundToModel', 'mergeRoles'],
  ...['whitespaceText', 'extraFields', 'requireToolsWithToolUse', 'maxBlocksWithCache'],
  ...['allowSystemRole', 'rejectEmptyToolCalls', 'knownSignatures'],
);

const framing = free(
  ...['eol', 'space', 'eventLine', 'multiLineData', 'bom', 'splitBytes', 'gapMs'],
);

const directives = new Set(['$raw', '$comment', '$delayMs', '$reset', '$hang']);

const streamEvent: Shape = (value, path, report) => {
  if (typeof value === 'string') return word('event', ['[DONE]'])(value, path, report);
  if (!isObject(value)) return report(`${path}: expected an object`);
  for (const name of Object.keys(value)) {
    if (name.startsWith('$') && !directives.has(name)) {
      report(`${path}: unknown event directive ${JSON.stringify(name)}`);
    }
  }
};

const response = fields('response field', {
  ...free('message', 'completion', 'json', 'text', 'status', 'headers', 'delayMs', 'refuse'),
  ...free('optional', 'forceUsage'),
  split: fields('split', free('text', 'json')),
  error: fields('error field', free('type', 'message')),
  events: list(streamEvent),
  chunks: list(plainOr(fields('chunk', free('b64', 'delayMs', 'reset', 'hang')))),
  framing: fields('framing', framing),
  cut: word('cut', ['reset', 'hang']),
  repeat: anything,
  when: matcher,
});

const toolFields = {
  ...free('name', 'description', 'inputSchema', 'sideEffect', 'idempotent', 'timeoutMs'),
  needsApproval: word('needsApproval', [true, false, 'predicate:firstCallOnly']),
  behaviour: lazy(() => behaviour),
};
const tool = fields('tool field', toolFields);
const nameOrTool = plainOr(tool);

const special = variants('special', 'what', {
  ...Object.fromEntries(
    ['undefined', 'bigint', 'circular', 'date', 'map', 'set', 'error', 'class', 'function']
      .concat(['symbol', 'nan', 'loneSurrogate', 'toJSONThrows', 'getterThrows'])
      .concat(['revokedProxy', 'thenable'])
      .map((what) => [what, free('kind')]),
  ),
  hugeString: free('kind', 'chars'),
  emojiString: free('kind', 'chars', 'prefix'),
  buffer: free('kind', 'bytes'),
  deepNest: free('kind', 'depth'),
});

const behaviour: Shape = (value, path, report) => {
  if ((value as { kind?: unknown } | null)?.kind === 'special') special(value, path, report);
  else plainBehaviour(value, path, report);
};

const plainBehaviour = variants('behaviour', 'kind', {
  return: free('value'),
  syncReturn: free('value'),
  echo: {},
  throw: free('message'),
  syncThrow: free('message'),
  throwValue: free('value'),
  throwUndefined: {},
  hang: {},
  hangUntilAbort: {},
  // biome-ignore lint/suspicious/noThenProperty: the word of the case format
  sleep: { ms: anything, then: behaviour },
  sequence: { steps: list(behaviour) },
  sideEffectThenHang: {},
  useSignal: {},
  probePrototype: {},
  returnBlocks: free('blocks', 'isError'),
  subagent: { prompt: anything, tools: list(nameOrTool) },
});

const configFields = {
  ...free('model', 'system', 'maxTokens', 'apiKey', 'secrets', 'toolConcurrency'),
  thinking: fields('thinking field', free('budgetTokens')),
  toolChoice: (value: unknown, path: string, report: (problem: string) => void) =>
    typeof value === 'string'
      ? word('toolChoice', ['auto', 'any', 'none'])(value, path, report)
      : variants('toolChoice', 'type', {
          ...{ auto: {}, any: {}, none: {} },
          tool: free('name'),
        })(value, path, report),
  caching: word('caching', [true, false]),
  pricing: fields('price', free('inputPerM', 'outputPerM', 'cacheReadPerM', 'cacheWritePerM')),
  compaction: fields('compaction field', free('triggerTokens', 'keepMessages')),
  retry: fields('retry field', free('maxRetries', 'baseMs', 'maxMs')),
  limits: fields(
    'limit',
    free(
      ...['maxTurns', 'maxToolCalls', 'maxRepeats', 'maxTotalTokens', 'runTimeoutMs'],
      ...['toolTimeoutMs', 'streamIdleMs', 'maxToolResultChars'],
      ...Object.keys(limitsThatNeedNothing),
    ),
  ),
};

const wait = textLike(
  'wait',
  /^(settled|quiet|awaiting_approval(:.+)?|(tool_started|tool_returned|side_effect):.+|(request|responded|hang|ms):\d+|sse:\d+:\d+)$/,
);

const mutation = variants('mutate', 'op', {
  setVersion: free('value'),
  truncate: free('keep'),
  replace: free('value'),
});

const count: Shape = (value, path, report) => {
  if (Number.isInteger(value) && Number(value) > 0) return;
  report(`${path}: unknown count ${JSON.stringify(value)}`);
};

const overrides: Shape = (value, path, report) => {
  const part = fields('tool field', toolFields);
  if (Array.isArray(value)) list(part)(value, path, report);
  else record(part)(value, path, report);
};

const withMayFail = (
  known: Record<string, Record<string, Shape>>,
): Record<string, Record<string, Shape>> =>
  Object.fromEntries(
    Object.entries(known).map(([name, shapes]) => [name, { ...shapes, mayFail: anything }]),
  );

const action: Shape = variants(
  'action',
  'do',
  withMayFail({
    start: free('prompt'),
    send: { ...free('text', 'orStart'), config: fields('config field', configFields) },
    steer: free('text'),
    notify: free('text'),
    approve: free('id', 'input'),
    deny: free('id', 'reason'),
    abort: free('reason'),
    snapshot: free('as'),
    kill: {},
    resume: {
      ...free('from'),
      retryFailed: word('retryFailed', [true, false]),
      workers: count,
      tools: list(nameOrTool),
      toolOverrides: overrides,
      mutate: mutation,
      // biome-ignore lint/suspicious/noThenProperty: the word of the case format
      then: list(lazy(() => action)),
    },
    assert: free('as'),
    wait: { for: wait },
  }),
);

const server = fields(
  'server field',
  {
    rules: fields('rule', rules),
    responses: list(response),
    onExhausted: fields('onExhausted field', free('status')),
  },
  { required: ['responses'] },
);

const script = fields(
  'script field',
  {
    api: word('api', ['anthropic', 'openai']),
    modes: someOf(word('mode', ['json', 'sse'])),
    config: fields('config field', configFields, { required: ['model'] }),
    history: list(fields('message field', free('role', 'content'))),
    server,
    tools: list(tool),
    actions: someOf(action),
  },
  { required: ['api', 'modes', 'config', 'server', 'actions'] },
);

const caseShape = fields('case field', {
  id: anything,
  ...free(...Object.keys(fieldsThatNeedNothing)),
  script,
  expect: expectation,
});
