/** Is it a content block? For blocks that a caller or somebody's model hands in: a type can't hold them to it. */
import { isJsonObject, type JsonObject, jsonProblem } from './json.ts';

/** `JSON.stringify`, which every block passes through later, overflows the stack at some thousand levels. */
const maxDepth = 500;

type Check = readonly [field: string, expected: string, holds: (value: unknown) => boolean];

const isText = (value: unknown): boolean => typeof value === 'string';
const text = (field: string): Check => [field, 'a text', isText];

const thinker: Check = ['model', 'a text or nothing', (id) => id === undefined || isText(id)];

const checksOf: ReadonlyMap<string, readonly Check[]> = new Map([
  ['text', [text('text')]],
  ['thinking', [text('thinking'), text('signature'), thinker]],
  ['redacted_thinking', [text('data'), thinker]],
  ['tool_use', [text('id'), text('name'), ['input', 'an object', isJsonObject]]],
  [
    'tool_result',
    [
      text('tool_use_id'),
      ['content', 'a text or content blocks', isResult],
      ['is_error', 'true, false or nothing', isFlag],
    ],
  ],
]);

/** A part of a value that is not as it has to be. */
export interface ShapeProblem {
  readonly path: string;
  readonly expected: string;
  readonly got: unknown;
}

/** What keeps a value from being a message; null when it is one. */
export function messageProblem(message: unknown): ShapeProblem | null {
  if (!isJsonObject(message)) return { path: '', expected: wholeMessage, got: message };
  const { role, content } = message;
  if ((role !== 'user' && role !== 'assistant') || !Array.isArray(content)) {
    return { path: '', expected: wholeMessage, got: message };
  }
  for (const [index, block] of content.entries()) {
    const expected = blockProblem(block);
    if (expected !== null) return { path: `.content[${index}]`, expected, got: block };
  }
  return null;
}

const wholeMessage = 'a message { role: "user" | "assistant", content: blocks }';

/** What keeps a value from being a content block, as `expected …`; null when it is one. */
export function blockProblem(value: unknown): string | null {
  return shapeProblem(value) ?? jsonProblem(value, maxDepth);
}

function shapeProblem(value: unknown): string | null {
  if (!isJsonObject(value)) return 'a content block with a type';
  if (typeof value.type !== 'string') return 'a content block with a type';
  const broken = (checksOf.get(value.type) ?? []).find(
    ([field, , holds]) => !holds(ownField(value, field)),
  );
  return broken ? `a ${value.type} block with ${broken[1]} as its ${broken[0]}` : null;
}

const ownField = (block: JsonObject, field: string): unknown =>
  Object.hasOwn(block, field) ? block[field] : undefined;

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}

function isResult(content: unknown): boolean {
  if (typeof content === 'string') return true;
  return Array.isArray(content) && content.every((block) => shapeProblem(block) === null);
}
