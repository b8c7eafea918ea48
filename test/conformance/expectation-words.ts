import { isObject } from './load-case.ts';
import { matcher } from './matcher-words.ts';
import {
  anything,
  fields,
  list,
  oneOrList,
  plainOr,
  record,
  type Shape,
  textLike,
  word,
} from './shape.ts';

const statuses = [
  ...['completed', 'awaiting_approval', 'aborted', 'failed', 'limit', 'refused', 'truncated'],
  'rejected',
];

const errorCodes = [
  ...['provider_invalid_request', 'provider_auth', 'provider_rate_limited', 'provider_overloaded'],
  ...['provider_error', 'stream_error', 'stream_interrupted', 'stream_timeout', 'invalid_response'],
  ...['context_exceeded', 'output_truncated', 'refused', 'budget_exceeded', 'loop_detected'],
  ...['run_timeout', 'aborted', 'unknown_tool', 'invalid_tool_input', 'tool_outcome_unknown'],
  ...['snapshot_incompatible', 'run_locked', 'stale_snapshot', 'not_awaiting', 'unknown_tool_use'],
  ...['run_finished', 'invalid_input'],
];

const invariants = [
  ...[
    'no_violations',
    'no_exhausted',
    'all_used',
    'settled',
    'no_unhandled',
    'no_warnings',
    'once',
  ],
];

const artifacts = [
  ...['everything', 'maxRequestBytes', 'objectPrototypePolluted', 'abortListenersLeft'],
  ...['workerErrors', 'actionErrors', 'terminalEvents', 'snapshotsEqual'],
  ...['approvalPredicateCalls', 'steerRejected'],
];

const range = plainOr(fields('bound', { min: anything, max: anything }));

const executions: Shape = (value, path, report) => {
  if (!isObject(value)) return report(`${path}: expected an object`);
  const { '*': rest, ...counts } = value;
  if (rest !== undefined && rest !== 'any') report(`${path}: unknown "*" ${JSON.stringify(rest)}`);
  record(range)(counts, path, report);
};

const requestPlaces: Shape = (value, path, report) => {
  for (const place of Object.keys(isObject(value) ? value : {})) {
    textLike('request', /^(last|\d+)$/)(place, path, report);
  }
  record(matcher)(value, path, report);
};

const error: Shape = (value, path, report) => {
  if (value === null) return;
  fields('error field', { code: oneOrList(word('error code', errorCodes)), message: matcher })(
    value,
    path,
    report,
  );
};

const usageFields = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'costUsd',
];
const matchers = (names: readonly string[]): Record<string, Shape> =>
  Object.fromEntries(names.map((name) => [name, matcher]));

const outcome = {
  status: oneOrList(word('status', statuses)),
  error,
  result: fields('result field', { text: matcher }),
  pending: list(anything),
  usage: fields('usage field', matchers(usageFields)),
  toolExecutions: executions,
  totalExecutions: range,
  toolInputs: matcher,
  requests: fields('requests field', {
    count: range,
    at: requestPlaces,
    every: matcher,
    identical: list(list(anything)),
    gapMs: record(range),
    strictOrder: anything,
    keepCache: anything,
    prefixStable: anything,
  }),
  events: fields('events field', { include: list(matcher), exclude: list(matcher) }),
  durationMs: range,
  artifacts: fields('artifact', matchers(artifacts)),
};

/** What expects nothing is met by anything. */
const expecting =
  (shape: Shape): Shape =>
  (value, path, report) => {
    shape(value, path, report);
    if (isObject(value) && !Object.entries(value).some(saysSomething)) {
      report(`${path}: it expects nothing`);
    }
  };

/** Not how a play comes out, only how it is looked at. */
const manner = new Set(['timeoutMs', 'waive', 'name', 'allowViolationRules', 'maxViolations']);

/** Without content they say nothing; that no call is pending, or none was run, is something. */
const containers = new Set([
  ...['result', 'usage', 'requests', 'events', 'artifacts', 'toolInputs', 'checkpoints', 'anyOf'],
]);

const saysSomething = ([name, said]: readonly [string, unknown]): boolean =>
  !manner.has(name) && !(containers.has(name) && Object.keys(said ?? {}).length === 0);

export const expectation: Shape = expecting(
  fields('expectation', {
    ...outcome,
    timeoutMs: anything,
    waive: list(word('invariant', invariants)),
    checkpoints: record(expecting(fields('expectation', outcome))),
    anyOf: list(expecting(fields('expectation', { ...outcome, name: anything }))),
    allowViolationRules: list(anything),
    maxViolations: anything,
  }),
);
