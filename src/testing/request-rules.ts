import { isJsonObject, type JsonObject } from '../core/json.ts';
import type { SentMessage, WireBlock } from './script.ts';

interface Turn {
  readonly path: string;
  readonly role: unknown;
  readonly blocks: readonly WireBlock[];
}

const maxCacheMarks = 4;
const toolName = /^[a-zA-Z0-9_-]{1,128}$/;
const toolUseId = /^[a-zA-Z0-9_-]+$/;
const loneSurrogate = /\p{Surrogate}/u;

const bodyFields = words(
  `billing_policy cache_control compaction container context_management diagnostics
  fallback_credit_token fallbacks inference_geo max_tokens mcp_servers messages metadata model
  output_config output_format service_tier speed stop_sequences stream system temperature thinking
  thread tool_choice tools top_k top_p`,
);
const messageFields = words('role content');
/** The fields of the blocks that a client writes or rebuilds; other types pass as they came. */
const blockFields = new Map([
  ['text', words('type text citations cache_control')],
  ['tool_use', words('type id name input caller toolset_name cache_control')],
  ['tool_result', words('type tool_use_id content is_error toolset_name cache_control')],
  ['thinking', words('type thinking signature')],
  ['redacted_thinking', words('type data')],
]);
const assistantTypes = words('tool_use server_tool_use mcp_tool_use thinking redacted_thinking');
const resultTypes = words('text image document search_result tool_reference');

/**
 * The rules of the Messages API that this request breaks, each as a sentence; none when it is good.
 *
 * With the messages `sent` to the client earlier, thinking must come back as it was, to the model
 * that made it, and an assistant message may come last when it was paused. Without them neither
 * can be known: thinking is then checked for its shape only, and an assistant message never comes
 * last.
 */
export function requestProblems(body: unknown, sent?: readonly SentMessage[]): readonly string[] {
  if (!isJsonObject(body)) return ['the body is not a JSON object'];
  const turns = toList(body.messages).map(toTurn);
  return [
    ...bodyProblems(body),
    ...unicodeProblems(body),
    ...toList(body.tools).flatMap(toolProblems),
    ...toList(body.messages).flatMap(messageProblems),
    ...cacheProblems(body, turns),
    ...uniquenessProblems(body, turns),
    ...turns.flatMap((turn, index) => unansweredProblems(turn, turns[index + 1])),
    ...turns.flatMap((turn, index) => answerProblems(turn, turns[index - 1])),
    ...(sent ? thinkingProblems(body, turns, sent) : []),
    ...budgetProblems(body, turns),
    ...edgeProblems(turns, sent ?? []),
  ];
}

function bodyProblems(body: JsonObject): readonly string[] {
  const { model, max_tokens, messages, tools, stream, system = '' } = body;
  const isTokenCount = Number.isSafeInteger(max_tokens) && Number(max_tokens) >= 0;
  const systemBlocks = toList(system);
  const isText = (block: unknown) => isJsonObject(block) && block.type === 'text';
  return [
    ...unknownFields('body', body, bodyFields),
    ...broken('body', {
      'model must be a name': typeof model !== 'string' || model === '',
      'max_tokens must be a whole number': !isTokenCount,
      'messages must be a list of at least one': toList(messages).length === 0,
      'tools must be a list': tools !== undefined && !Array.isArray(tools),
      'stream must be a boolean': stream !== undefined && typeof stream !== 'boolean',
      'system must be a string or a list': typeof system !== 'string' && !Array.isArray(system),
      'system may hold only text blocks': !systemBlocks.every(isText),
    }),
    ...systemBlocks.flatMap((block, index) => blockProblems(block, 'system', `system.${index}`)),
  ];
}

/** Walks without recursion: how deep a tool's input nests is the model's choice. */
function unicodeProblems(body: JsonObject): readonly string[] {
  const problems: string[] = [];
  const todo: [path: string, value: unknown][] = [['body', body]];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [path, value] = next;
    const texts =
      typeof value === 'string' ? [value] : isJsonObject(value) ? Object.keys(value) : [];
    if (texts.some((text) => loneSurrogate.test(text))) {
      problems.push(`${path}: a text must not have a lone surrogate`);
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) todo.push([`${path}.${key}`, child]);
  }
  return problems;
}

function toolProblems(tool: unknown, index: number): readonly string[] {
  const path = `tools.${index}`;
  if (!isJsonObject(tool)) return [`${path}: must be an object`];
  const { type = 'custom', name, input_schema } = tool;
  // The API's own tools may have no name, and have no schema.
  const isCustom = type === 'custom' || type === null;
  const hasSchema = isJsonObject(input_schema) && input_schema.type === 'object';
  return broken(path, {
    'name is not legal': (isCustom || name !== undefined) && !matches(name, toolName),
    'input_schema must be a schema of type "object"': isCustom && !hasSchema,
  });
}

function messageProblems(message: unknown, index: number): readonly string[] {
  const path = `messages.${index}`;
  if (!isJsonObject(message)) return [`${path}: must be an object`];
  const { role, content } = message;
  return [
    ...unknownFields(path, message, messageFields),
    ...broken(path, {
      'role must be user or assistant': role !== 'user' && role !== 'assistant',
      'content must be a string or a list': typeof content !== 'string' && !Array.isArray(content),
      'content must not be empty': isEmpty(content),
    }),
    ...toList(content).flatMap((block, at) => blockProblems(block, role, `${path}.content.${at}`)),
  ];
}

function blockProblems(block: unknown, role: unknown, path: string): readonly string[] {
  if (!isBlock(block)) return [`${path}: must be a content block`];
  const { type } = block;
  const fields = blockFields.get(type);
  return [
    ...(fields ? unknownFields(path, block, fields) : []),
    ...broken(path, {
      [`${type} must be in an assistant message`]: assistantTypes.has(type) && role !== 'assistant',
      [`${type} must be in a user message`]: type === 'tool_result' && role !== 'user',
    }),
    ...typeProblems(block, path),
  ];
}

function typeProblems(block: WireBlock, path: string): readonly string[] {
  switch (block.type) {
    case 'text':
      return broken(path, {
        'text must not be empty': typeof block.text !== 'string' || isEmpty(block.text),
      });
    case 'tool_use':
    case 'server_tool_use':
      return broken(path, {
        'id is not legal': !matches(block.id, toolUseId),
        'name is not legal': !matches(block.name, toolName),
        'input must be an object': !isJsonObject(block.input),
      });
    case 'tool_result':
      return resultProblems(block, path);
    case 'thinking':
      return broken(path, {
        'thinking must be a string': typeof block.thinking !== 'string',
        'signature is required': typeof block.signature !== 'string' || block.signature === '',
      });
    case 'redacted_thinking':
      return broken(path, { 'data must be a string': typeof block.data !== 'string' });
    default:
      return [];
  }
}

function resultProblems(result: WireBlock, path: string): readonly string[] {
  const { content = '', is_error = false } = result;
  const items = toList(content);
  const types = items.map((item) => (isBlock(item) ? item.type : ''));
  return [
    ...broken(path, {
      'is_error must be a boolean': typeof is_error !== 'boolean',
      'content must be a string or a list': typeof content !== 'string' && !Array.isArray(content),
      'content holds a block no result may hold': !types.every((type) => resultTypes.has(type)),
      'content of an error must not be empty': is_error === true && isEmpty(content),
      'content of an error must be text':
        is_error === true && !types.every((type) => type === 'text'),
    }),
    ...items.flatMap((item, at) => blockProblems(item, 'user', `${path}.content.${at}`)),
  ];
}

function cacheProblems(body: JsonObject, turns: readonly Turn[]): readonly string[] {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const inResults = resultsIn(blocks).flatMap((block) => toList(block.content));
  const places = [body, ...toList(body.tools), ...toList(body.system), ...blocks, ...inResults];
  const marks = places.filter((place) => isJsonObject(place) && isJsonObject(place.cache_control));
  return broken('cache_control', {
    [`at most ${maxCacheMarks} are allowed, found ${marks.length}`]: marks.length > maxCacheMarks,
  });
}

function uniquenessProblems(body: JsonObject, turns: readonly Turn[]): readonly string[] {
  const blocks = turns.flatMap((turn) => turn.blocks);
  const names = toList(body.tools).map((tool) => (isJsonObject(tool) ? tool.name : undefined));
  const ids = toolUsesIn(blocks).map((block) => block.id);
  const needsTools = ids.length > 0 || resultsIn(blocks).length > 0;
  return [
    ...repeated(names).map((name) => `tools: the name ${show(name)} is not unique`),
    ...repeated(ids).map((id) => `messages: the tool_use ${show(id)} is not unique`),
    ...broken('tools', { 'are required with tool uses': needsTools && names.length === 0 }),
  ];
}

function unansweredProblems(turn: Turn, next: Turn | undefined): readonly string[] {
  const results = next?.role === 'user' ? resultsIn(next.blocks) : [];
  const answered = new Set(results.map((block) => block.tool_use_id));
  return toolUsesIn(turn.blocks)
    .filter((block) => !answered.has(block.id))
    .map(({ id }) => `${turn.path}: ${show(id)} has no tool_result in the next message`);
}

function answerProblems(turn: Turn, previous: Turn | undefined): readonly string[] {
  const asked = new Set(toolUsesIn(previous?.blocks ?? []).map((block) => block.id));
  const results = resultsIn(turn.blocks);
  const ids = results.map((block) => block.tool_use_id);
  const isFirst = resultsIn(turn.blocks.slice(0, results.length)).length === results.length;
  return [
    ...ids
      .filter((id) => !asked.has(id))
      .map((id) => `${turn.path}: ${show(id)} has no tool_use in the previous message`),
    ...repeated(ids).map((id) => `${turn.path}: ${show(id)} has more than one tool_result`),
    ...broken(turn.path, { 'tool_result blocks must come first': !isFirst }),
  ];
}

/** Every thinking block must be one that was sent; the last assistant message must have all its own. */
function thinkingProblems(
  body: JsonObject,
  turns: readonly Turn[],
  sent: readonly SentMessage[],
): readonly string[] {
  const known = new Set(thinkingIn(sent));
  const changed = turns.filter((turn) =>
    turn.blocks.flatMap(thinkingKey).some((key) => !known.has(key)),
  );
  const isForeign = isOfAnother(body);
  const own = new Set(thinkingIn(sent.filter((message) => !isForeign(message))));
  const foreign = thinkingIn(sent.filter(isForeign)).filter((key) => !own.has(key));
  const last = turns.findLast((turn) => turn.role === 'assistant');
  return [
    ...turns
      .filter((turn) => turn.blocks.flatMap(thinkingKey).some((key) => foreign.includes(key)))
      .map((turn) => `${turn.path}: thinking was made by another model`),
    ...changed.map((turn) => `${turn.path}: thinking is not as it was sent`),
    ...(last && lacksThinking(body, last, sent)
      ? [`${last.path}: thinking is missing or moved`]
      : []),
  ];
}

function lacksThinking(body: JsonObject, turn: Turn, sent: readonly SentMessage[]): boolean {
  const isForeign = isOfAnother(body);
  const expected = originsOf(turn, sent).flatMap((message) => {
    const blocks = toBlocks(message.content);
    return isForeign(message) ? blocks.filter(isCall) : blocks;
  });
  const isOff = !isJsonObject(body.thinking) || body.thinking.type === 'disabled';
  // A client that has switched thinking off may leave all of it out.
  if (expected.length === 0 || (isOff && turn.blocks.flatMap(thinkingKey).length === 0))
    return false;
  return !isSameList(expected.flatMap(orderKey), turn.blocks.flatMap(orderKey));
}

/** The messages whose calls this turn holds; the latest one when an id was sent more than once. */
function originsOf(turn: Turn, sent: readonly SentMessage[]): readonly SentMessage[] {
  const senders = new Map<unknown, SentMessage>();
  for (const message of sent) {
    for (const block of toBlocks(message.content))
      if (isCall(block)) senders.set(block.id, message);
  }
  return [...new Set(turn.blocks.filter(isCall).flatMap((block) => senders.get(block.id) ?? []))];
}

const thinkingIn = (sent: readonly SentMessage[]): readonly string[] =>
  sent.flatMap(({ content }) => toBlocks(content).flatMap(thinkingKey));

const isOfAnother =
  ({ model: asked }: JsonObject) =>
  ({ model }: SentMessage): boolean =>
    model !== undefined && model !== asked;

/** With a budget, a turn that goes on after results must have begun with thinking. */
function budgetProblems({ thinking }: JsonObject, turns: readonly Turn[]): readonly string[] {
  const before = turns.findLastIndex(
    ({ role, blocks }) => role === 'user' && resultsIn(blocks).length === 0,
  );
  const begin = turns[before + 1];
  const [first] = begin?.blocks ?? [];
  const isBudgeted = isJsonObject(thinking) && thinking.type === 'enabled';
  return broken(begin?.path ?? 'messages', {
    'the turn must begin with thinking, which is enabled':
      isBudgeted && first !== undefined && thinkingKey(first).length === 0,
  });
}

function edgeProblems(turns: readonly Turn[], sent: readonly SentMessage[]): readonly string[] {
  const [first, last] = [turns[0], turns.at(-1)];
  const isOpen = last?.role === 'assistant' && !sent.some((message) => isPausedEnd(last, message));
  return broken('messages', {
    'the first must be a user message': first !== undefined && first.role !== 'user',
    'the last must not be an assistant message, unless it was paused': isOpen,
  });
}

/** A turn that was paused more than once may have grown, so only its end has to agree. */
function isPausedEnd(turn: Turn, message: SentMessage): boolean {
  if (message.stop_reason !== 'pause_turn' && message.stop_reason !== 'compaction') return false;
  const paused = toBlocks(message.content).flatMap(contentKey);
  return (
    paused.length > 0 && isSameList(turn.blocks.flatMap(contentKey).slice(-paused.length), paused)
  );
}

function toTurn(message: unknown, index: number): Turn {
  const { role, content } = isJsonObject(message) ? message : {};
  return { path: `messages.${index}`, role, blocks: toBlocks(content) };
}

const isBlock = (value: unknown): value is WireBlock =>
  isJsonObject(value) && typeof value.type === 'string';
const isCall = (block: WireBlock) => block.type.endsWith('tool_use');
const toBlocks = (content: unknown) => toList(content).filter(isBlock);
const toolUsesIn = (blocks: readonly WireBlock[]) =>
  blocks.filter((block) => block.type === 'tool_use');
const resultsIn = (blocks: readonly WireBlock[]) =>
  blocks.filter((block) => block.type === 'tool_result');

function thinkingKey({ type, thinking, signature, data }: WireBlock): readonly string[] {
  const isThinking = type === 'thinking' || type === 'redacted_thinking';
  return isThinking ? [toKey(type, thinking, signature, data)] : [];
}

function orderKey(block: WireBlock): readonly string[] {
  return isCall(block) ? [toKey('call', block.id)] : thinkingKey(block);
}

/** Blank texts have no key: a client must leave them out. */
function contentKey({ type, id, tool_use_id, text }: WireBlock): readonly string[] {
  return type === 'text' && isEmpty(text) ? [] : [toKey(type, id, tool_use_id, text)];
}

/** Only strings count: the rest is of a foreign shape, and broken anyway. */
function toKey(...parts: readonly unknown[]): string {
  return JSON.stringify(parts.map((part) => (typeof part === 'string' ? part : null)));
}

function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((value, index) => value === right[index]);
}

function repeated(values: readonly unknown[]): readonly unknown[] {
  const once = new Set<unknown>();
  const again: unknown[] = [];
  for (const value of values) {
    if (value !== undefined && once.has(value)) again.push(value);
    once.add(value);
  }
  return again;
}

function unknownFields(path: string, value: JsonObject | WireBlock, known: ReadonlySet<string>) {
  const fields = Object.keys(value).filter((field) => !known.has(field));
  return fields.map((field) => `${path}: the field ${show(field)} is not known`);
}

/** The rules that are marked as broken. */
function broken(path: string, rules: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.keys(rules).flatMap((rule) => (rules[rule] ? [`${path}: ${rule}`] : []));
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Whether nothing, or only white space, is in it. */
function isEmpty(content: unknown): boolean {
  return typeof content === 'string' ? content.trim() === '' : toList(content).length === 0;
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : `(${typeof value})`;
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/));
}
