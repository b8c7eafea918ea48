/** Is it the stored form of a run, as `compact` makes it? A store's row may hold anything. */
import type { ShapeProblem } from './block-shape.ts';
import {
  type Check,
  isAll,
  isBoolean,
  isListOf,
  isOneOf,
  isShaped,
  isText,
  isWhole,
  orAbsent,
} from './shape.ts';

const isStoredContext = isShaped({
  schemaVersion: isWhole,
  messages: isWhole,
  calls: isListOf(isShaped({ id: isText, isSettled: isBoolean })),
});

const isResultOfCall = isShaped({ type: isOneOf('tool_result'), tool_use_id: isText });

/** What keeps `expand` from putting the parts together; null when nothing does. What they say is looked at later. */
export function partsProblem(parts: {
  readonly settings: unknown;
  readonly checkpoint: unknown;
  readonly messages: unknown;
  readonly results: unknown;
  readonly saveVersion: unknown;
  readonly generation: unknown;
  readonly head: unknown;
}): ShapeProblem | null {
  return (
    isRow(parts, '') ??
    isShaped({ schemaVersion: orAbsent(isWhole) })(parts.settings, 'settings') ??
    isShaped({ context: isAll(isObject, isStoredContext) })(parts.checkpoint, '') ??
    isList(parts.messages, 'messages') ??
    isListOf(isResultOfCall)(parts.results, 'results') ??
    lengthProblem(parts as Parts)
  );
}

const isRow = isShaped({
  saveVersion: isWhole,
  generation: isWhole,
  head: isShaped({ turn: isWhole, tags: isListOf(isText) }),
});

interface Parts {
  readonly checkpoint: { readonly context: { readonly messages: number } };
  readonly messages: readonly unknown[];
}

const isObject: Check = isShaped({});
const isList: Check = isListOf(() => null);

/** Both were saved in one step. */
function lengthProblem({ checkpoint, messages }: Parts): ShapeProblem | null {
  const expected = checkpoint.context.messages;
  if (messages.length === expected) return null;
  return { path: 'context.messages', expected: `${expected} messages`, got: messages };
}
