/** Ids name calls, children and results: an API wants them legal, and unique in the whole transcript. */
import type { ContentBlock, Message, ToolUse } from './message.ts';

/** The id in the characters that every API takes, and short enough for all of them. */
const legalId = (id: string): string => id.slice(0, 56).replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';

export const isLegalId = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id);

export const isLegalName = (name: string): boolean => legalName(name) === name;

/**
 * The name in a form that every API takes. Only for requests: what a model calls a tool is looked up as it was written,
 * so that no other name ever becomes that of a tool.
 */
export const legalName = (name: string): string =>
  name.slice(0, 128).replace(/[^a-zA-Z0-9_-]/g, '_') || 'unnamed';

/** A legal id that is not taken yet: the given one, if it is. */
export function freeId(id: string, isTaken: (id: string) => boolean): string {
  const legal = legalId(id);
  let free = isLegalId(id) ? id : legal;
  for (let count = 2; isTaken(free); count += 1) free = `${legal}_${count}`;
  return free;
}

/** The same of those in a set, which takes it. */
export function takeId(id: string, taken: Set<string>): string {
  const free = freeId(id, (other) => taken.has(other));
  taken.add(free);
  return free;
}

/**
 * Every tool use with a legal name and an id of its own, and its result under the same. Of several results for one id the n-th answers
 * the n-th use of that id in the message before; results that answer none are left out.
 */
export function withUniqueIds(messages: readonly Message[]): readonly Message[] {
  const taken = new Set<string>();
  let asked: ReadonlyMap<string, string[]> = new Map();
  return messages.map(({ role, content }): Message => {
    if (role === 'user') {
      return { role, content: content.flatMap((block) => renamedResult(block, asked)) };
    }
    const renamed = content.map((block) =>
      block.type === 'tool_use'
        ? { ...block, id: takeId(block.id, taken), name: legalName(block.name) }
        : block,
    );
    asked = newIds(content.filter(isToolUse), renamed.filter(isToolUse));
    return { role, content: renamed };
  });
}

const isToolUse = (block: ContentBlock): block is ToolUse => block.type === 'tool_use';

function newIds(before: readonly ToolUse[], after: readonly ToolUse[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  before.forEach(({ id }, index) => {
    ids.set(id, [...(ids.get(id) ?? []), after[index]?.id ?? id]);
  });
  return ids;
}

function renamedResult(
  block: ContentBlock,
  asked: ReadonlyMap<string, string[]>,
): readonly ContentBlock[] {
  if (block.type !== 'tool_result') return [block];
  const id = asked.get(block.tool_use_id)?.shift();
  return id === undefined ? [] : [{ ...block, tool_use_id: id }];
}
