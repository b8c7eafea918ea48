import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';

/** How long the prompt cache keeps what a request wrote. False: write nothing. */
export type Caching = '5m' | '1h' | false;

/** What a request is cached by, in the order the cache reads it: tools, system, messages. */
export interface CachedParts {
  readonly tools: readonly JsonObject[];
  /** Tool definitions of the caller, sent after ours as they are. */
  readonly serverTools: readonly JsonObject[];
  readonly system: readonly JsonObject[];
  readonly messages: readonly WireMessage[];
}

export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

interface Place {
  readonly message: number;
  readonly block: number;
}

const maxMarks = 4;

const markable = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'tool_use',
  'tool_result',
  'server_tool_use',
  'mcp_tool_use',
]);

/**
 * Puts the cache marks, at most four with those that are there already; nothing else changes, so that the bytes of
 * a prefix stay the same from request to request.
 *
 * One mark moves with the end of the conversation. Because a lookup goes back 20 blocks only, another stays where the
 * request before this one had its end. The other two keep system and tools when messages change.
 */
export function markForCache(parts: CachedParts, caching: Caching): CachedParts {
  if (caching === false) return parts;
  const foreign = [...parts.serverTools, ...parts.system, ...parts.messages.flatMap(blocksWithin)];
  let left = maxMarks - foreign.filter(isMarked).length;
  const hasRoom = (isThere: boolean): boolean => isThere && left-- > 0;
  const end = lastMarkable(parts.messages);
  const previousEnd = lastMarkable(parts.messages.slice(0, newestReply(parts.messages)));
  const places = [end, previousEnd].filter((place) => place !== null && hasRoom(true));
  const marksSystem = hasRoom(parts.system.length > 0);
  const marksTools = hasRoom(parts.tools.length > 0);
  // Longer lifetimes must come first, and the caller's tools come before what follows them.
  const later = parts.serverTools.some(isShortLived) ? '5m' : caching;
  return {
    ...parts,
    tools: marksTools ? markLast(parts.tools, caching) : parts.tools,
    system: marksSystem ? markLast(parts.system, later) : parts.system,
    messages: places.reduce((messages, place) => markAt(messages, place, later), parts.messages),
  };
}

/** What the request before this one ended with is what stands before the newest reply. */
function newestReply(messages: readonly WireMessage[]): number {
  const index = messages.findLastIndex(({ role }) => role === 'assistant');
  return Math.max(index, 0);
}

function lastMarkable(messages: readonly WireMessage[]): Place | null {
  for (let message = messages.length - 1; message >= 0; message -= 1) {
    const block = messages[message]?.content.findLastIndex(isMarkable) ?? -1;
    if (block >= 0) return { message, block };
  }
  return null;
}

/** The API refuses marks on thinking and on empty texts. Types it may refuse them on get none either. */
function isMarkable({ type, text, cache_control }: JsonObject): boolean {
  if (typeof type !== 'string' || cache_control !== undefined) return false;
  if (type === 'text') return typeof text === 'string' && text.trim() !== '';
  return markable.has(type) || type.endsWith('_tool_result');
}

function markAt(
  messages: readonly WireMessage[],
  place: Place | null,
  caching: '5m' | '1h',
): readonly WireMessage[] {
  return messages.map((message, index) => {
    if (index !== place?.message) return message;
    const content = message.content.map((block, at) =>
      at === place.block ? mark(block, caching) : block,
    );
    return { ...message, content };
  });
}

const markLast = (list: readonly JsonObject[], caching: '5m' | '1h'): readonly JsonObject[] =>
  list.map((item, index) => (index === list.length - 1 ? mark(item, caching) : item));

const mark = (item: JsonObject, caching: '5m' | '1h'): JsonObject => ({
  ...item,
  cache_control: caching === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' },
});

const isMarked = ({ cache_control }: JsonObject): boolean => isJsonObject(cache_control);

const isShortLived = ({ cache_control }: JsonObject): boolean =>
  isJsonObject(cache_control) && cache_control.ttl !== '1h';

const blocksWithin = ({ content }: WireMessage): readonly JsonObject[] =>
  content.flatMap((block) => [block, ...nested(block.content)]);

const nested = (content: Json | undefined): readonly JsonObject[] =>
  Array.isArray(content) ? content.filter(isJsonObject) : [];
