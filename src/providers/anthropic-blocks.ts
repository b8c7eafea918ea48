import {
  canonicalJson,
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
} from '../core/json.ts';
import { type ContentBlock, invalidJsonKey, type OtherBlock } from '../core/message.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { wellFormedJson } from '../core/well-formed-json.ts';

type Input = JsonObject;

/** `JSON.stringify`, which every block passes through later, overflows the stack at some thousand levels. */
const maxDepth = 500;

/** A content block of the API as one of ours, or null when it can't be one. Lone surrogates are replaced. */
export function readBlock(raw: unknown): ContentBlock | null {
  if (!isJsonObject(raw) || typeof raw.type !== 'string') return null;
  const { input, ...rest } = raw;
  if (isTooDeep(rest)) return null;
  const fields = wellFormedJson(rest);
  const { type } = raw;
  switch (type) {
    case 'text':
      return { type, text: textOf(fields.text), ...given('citations', fields.citations) };
    case 'thinking':
      return { type, thinking: textOf(fields.thinking), signature: textOf(fields.signature) };
    case 'redacted_thinking':
      return { type, data: textOf(fields.data) };
    case 'tool_use':
      return {
        type,
        id: textOf(fields.id),
        name: textOf(fields.name),
        input: toInput(input),
        ...given('caller', fields.caller),
      };
    default:
      // The API knows more types than our list of them: what is not read is carried as it came.
      return (input === undefined ? fields : { ...fields, input: toInput(input) }) as OtherBlock;
  }
}

/** The input of a tool use from the JSON text that the model wrote. No text is an input without fields. */
export function parseInput(text: string): Input {
  if (text.trim() === '') return {};
  const parsed = parseJson(text);
  const isUsable = parsed.ok && isJsonObject(parsed.value) && !isTooDeep(parsed.value);
  return isUsable ? wellFormedJson(parsed.value as Input) : invalidInput(text);
}

function toInput(value: Json | undefined): Input {
  if (value === undefined) return {};
  if (isJsonObject(value) && !isTooDeep(value)) return wellFormedJson(value);
  return invalidInput(canonicalJson(value));
}

const invalidInput = (text: string): Input => ({ [invalidJsonKey]: toWellFormed(text) });

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The API says null, or an empty list, for what there is not. */
function given<Name extends string>(name: Name, value: Json | undefined) {
  const isMissing = value === undefined || value === null;
  const isEmpty = Array.isArray(value) && value.length === 0;
  return isMissing || isEmpty ? {} : ({ [name]: value } as { readonly [key in Name]: Json });
}

function isTooDeep(root: Json): boolean {
  const todo: (readonly [Json, number])[] = [[root, 0]];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [value, depth] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= maxDepth) return true;
    for (const child of Object.values(value)) todo.push([child, depth + 1]);
  }
  return false;
}
