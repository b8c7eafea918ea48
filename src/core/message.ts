import { isJsonObject, type Json } from './json.ts';
import { utf8Length } from './utf8.ts';

/** Text. An empty or blank one is never sent to a model: the APIs refuse it. */
export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly citations?: Json;
}

/** The model's reasoning. Goes back unmodified and in order; without a signature it can't go back at all. */
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
  /**
   * Id of the model that thought it, in a run's transcript; no request holds it. A request to another model leaves the
   * block out. Without it, the block goes to every model.
   */
  readonly model?: string;
}

export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
  /** As in `ThinkingBlock`. */
  readonly model?: string;
}

/** The model's request to run a tool. `input` is always an object; `id` is unique in a transcript. */
export interface ToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: { readonly [key: string]: Json };
  readonly caller?: Json;
}

/** Answers the tool use of the same id. */
export interface ToolResult {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: string | readonly ContentBlock[];
  readonly is_error?: true;
}

/**
 * A block that Pawl carries but does not read: images, documents, what server-side tools produce, and block types
 * newer than this package. It goes back verbatim.
 */
export interface OtherBlock {
  readonly type:
    | 'image'
    | 'document'
    | 'search_result'
    | 'container_upload'
    | 'server_tool_use'
    | 'mcp_tool_use'
    | 'mcp_tool_result'
    | `${string}_tool_result`
    | 'compaction';
  readonly [field: string]: Json;
}

export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUse
  | ToolResult
  | OtherBlock;

/** One entry of the transcript, in Anthropic's content-block form. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly ContentBlock[];
}

/** The key under which arguments that were not valid JSON are kept, so that `input` stays an object. */
export const invalidJsonKey = 'INVALID_JSON';

export const text = (value: string): TextBlock => ({ type: 'text', text: value });

export const userMessage = (value: string): Message => ({ role: 'user', content: [text(value)] });

export const isBlank = (value: string): boolean => value.trim() === '';

export const toolUsesIn = (message: Message | undefined): readonly ToolUse[] =>
  message?.role === 'assistant' ? message.content.filter((block) => block.type === 'tool_use') : [];

/** The text of these blocks, joined as the model wrote it. */
export const textIn = (content: readonly ContentBlock[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

/** An answer that says why a tool use did not run. Its text is for the model. */
export const errorResult = (id: string, why: string): ToolResult => ({
  type: 'tool_result',
  tool_use_id: id,
  content: why,
  is_error: true,
});

/** The arguments as the model sent them when they were not valid JSON, else null. */
export function invalidJsonIn(input: unknown): string | null {
  if (!isJsonObject(input)) return null;
  const raw = input[invalidJsonKey];
  return typeof raw === 'string' && Object.keys(input).length === 1 ? raw : null;
}

const tokensPerMessage = 16;
const tokensPerBlock = 24;
/** What the APIs count for one image or page at most, by their documentation, with room. */
const tokensPerMedia = 8_000;

/**
 * Most tokens that these blocks can become: no byte-level tokenizer makes more tokens than bytes.
 * A bound, not an estimate: what a reservation needs. The next reply's usage replaces it by real counts.
 */
export function tokensAtMost(content: readonly ContentBlock[]): number {
  return content.reduce((sum, block) => sum + tokensPerBlock + bytesOf(block), tokensPerMessage);
}

function bytesOf(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return utf8Length(block.text);
    case 'tool_result':
      return (
        utf8Length(block.tool_use_id) +
        (typeof block.content === 'string'
          ? utf8Length(block.content)
          : tokensAtMost(block.content))
      );
    case 'image':
      return tokensPerMedia;
    case 'document':
      return tokensPerMedia + utf8Length(JSON.stringify(block));
    default:
      return utf8Length(JSON.stringify(block));
  }
}
