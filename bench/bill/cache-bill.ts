/**
 * Counts what requests cost under the prompt cache of Anthropic's Messages API, by its documented rules. A token is four
 * bytes of a block's JSON, for every bill alike. Requests come one after another, and soon enough for each entry to live.
 */
import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { noUsage, type Usage } from '../../src/core/reply.ts';

type Lifetime = '5m' | '1h';

/** What the cache knows of a request up to and with one of its blocks. */
interface Prefix {
  /** The same for the same bytes before it, marks aside. */
  readonly key: string;
  readonly tokens: number;
  readonly mark: Lifetime | null;
}

const maxMarks = 4;
const lookbackBlocks = 20;
const minCachedTokens = 1_024;
const bytesPerToken = 4;

/** What each request is billed for, in the order in which they were sent. @throws Error for more than four marks */
export function billedUsage(bodies: readonly JsonObject[]): readonly Usage[] {
  const entries = new Set<string>();
  return bodies.map((body) => {
    const prefixes = prefixesOf(body);
    const marked = prefixes.filter(({ mark }) => mark !== null);
    if (marked.length > maxMarks) throw new Error(`${marked.length} marks, ${maxMarks} at most`);
    const usage = usageOf(prefixes, entries);
    for (const { key, tokens } of marked) if (tokens >= minCachedTokens) entries.add(key);
    return usage;
  });
}

function usageOf(prefixes: readonly Prefix[], entries: ReadonlySet<string>): Usage {
  const read = longest(prefixes.flatMap((_, index) => hitAt(prefixes, index, entries)));
  const written = prefixes.filter(({ mark, tokens }) => mark !== null && tokens >= minCachedTokens);
  const longEnd = longest(written.filter(({ mark }) => mark === '1h'));
  const end = Math.max(read, longest(written));
  return {
    ...noUsage,
    inputTokens: sizeOf(prefixes) - end,
    cacheReadTokens: read,
    cacheWriteTokens: end - read,
    cacheWriteLongTokens: Math.max(0, longEnd - read),
  };
}

/** What a mark finds: the longest entry that ends at its block or at one of the twenty before it. */
function hitAt(
  prefixes: readonly Prefix[],
  index: number,
  entries: ReadonlySet<string>,
): readonly Prefix[] {
  if (prefixes[index]?.mark === null) return [];
  const inReach = prefixes.slice(Math.max(0, index - lookbackBlocks), index + 1);
  return inReach.filter(({ key }) => entries.has(key));
}

const longest = (prefixes: readonly Prefix[]): number =>
  Math.max(0, ...prefixes.map(({ tokens }) => tokens));

const sizeOf = (prefixes: readonly Prefix[]): number => prefixes.at(-1)?.tokens ?? 0;

/** Input tokens of a request. */
export const inputTokensOf = (body: JsonObject): number => sizeOf(prefixesOf(body));

/**
 * The least that these requests can be billed for: what an earlier request began with, too, is read; of the rest, what a
 * later one begins with, too, is written; what nobody else begins with, as the news of the last request, is neither.
 */
export function leastUsage(bodies: readonly JsonObject[], lifetime: Lifetime): readonly Usage[] {
  const requests = bodies.map(prefixesOf);
  return requests.map((prefixes, index) => {
    const known = sharedWith(prefixes, requests.slice(0, index));
    const wanted = sharedWith(prefixes, requests.slice(index + 1));
    const written = Math.max(0, wanted - known);
    return {
      ...noUsage,
      inputTokens: sizeOf(prefixes) - known - written,
      cacheReadTokens: known,
      cacheWriteTokens: written,
      cacheWriteLongTokens: lifetime === '1h' ? written : 0,
    };
  });
}

/** How many tokens any of the others begins with, too. */
function sharedWith(prefixes: readonly Prefix[], others: readonly (readonly Prefix[])[]): number {
  const keys = new Set(others.flatMap((other) => other.map(({ key }) => key)));
  return longest(prefixes.filter(({ key }) => keys.has(key)));
}

export const uncachedUsage = (sizes: readonly number[]): readonly Usage[] =>
  sizes.map((size) => ({ ...noUsage, inputTokens: size }));

/** Whether each request begins with all that the one before it held, byte by byte. */
export function keepsPrefix(bodies: readonly JsonObject[]): boolean {
  const requests = bodies.map(prefixesOf);
  return requests.every((prefixes, index) => {
    const before = requests[index - 1];
    return before === undefined || prefixes[before.length - 1]?.key === before.at(-1)?.key;
  });
}

function prefixesOf(body: JsonObject): readonly Prefix[] {
  let key = '';
  let tokens = 0;
  const blocks = blocksOf(body);
  return blocks.map(({ place, block: { cache_control, ...block } }, index) => {
    const json = JSON.stringify(block);
    key = createHash('sha256').update(`${key}${place}${json}`).digest('base64');
    tokens += Buffer.byteLength(json) / bytesPerToken;
    const automatic = index === blocks.length - 1 ? body.cache_control : undefined;
    return { key, tokens, mark: lifetimeOf(cache_control ?? automatic) };
  });
}

const lifetimeOf = (mark: Json | undefined): Lifetime | null =>
  isJsonObject(mark) ? (mark.ttl === '1h' ? '1h' : '5m') : null;

interface PlacedBlock {
  /** What makes the same block another one: where it stands. */
  readonly place: string;
  readonly block: JsonObject;
}

function blocksOf(body: JsonObject): readonly PlacedBlock[] {
  const { tools, system, messages, tool_choice = null, thinking = null } = body;
  // These two change what the model reads before the messages, and not the tools and the system prompt.
  const settings = JSON.stringify([tool_choice, thinking]);
  const place = (where: string) => (block: JsonObject) => ({ place: where, block });
  return [
    ...toBlocks(tools).map(place('tools')),
    ...toBlocks(system).map(place('system')),
    ...toBlocks(messages).flatMap(({ role, content }, index) =>
      toBlocks(content).map(place(`${settings}${index}${role}`)),
    ),
  ];
}

function toBlocks(value: Json | undefined): readonly JsonObject[] {
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
