/**
 * Calls of tools that run on the provider's side. Call and result both stand in assistant messages, and the API wants
 * them paired within one turn of the model. A turn goes on through messages that hold nothing but tool results: a
 * call may be put off until the client's own tools are answered. Anything else that a user says ends it.
 */
import type { ContentBlock, Message } from './message.ts';

/** Without results of no call, and without calls that were left open; the turn that still goes on may have such. */
export function withPairedServerCalls(messages: readonly Message[]): readonly Message[] {
  const unpaired = unpairedServerBlocks(messages);
  if (unpaired.size === 0) return messages;
  return messages
    .map(({ role, content }, index) => ({
      role,
      content: content.filter((_, at) => !unpaired.has(`${index}.${at}`)),
    }))
    .filter(({ content }) => content.length > 0);
}

/** Places, as `message.block`, of the parts of server-side calls that a request may not hold. */
export function unpairedServerBlocks(messages: readonly Message[]): ReadonlySet<string> {
  const unpaired = new Set<string>();
  const open = new Map<string, string>();
  const leaveOpen = (id: string) => {
    const place = open.get(id);
    if (place !== undefined) unpaired.add(place);
    open.delete(id);
  };
  for (const [index, message] of messages.entries()) {
    if (endsTurn(message)) for (const id of [...open.keys()]) leaveOpen(id);
    for (const [at, block] of message.content.entries()) {
      const place = `${index}.${at}`;
      if (isServerCall(block)) {
        leaveOpen(idIn(block, 'id'));
        open.set(idIn(block, 'id'), place);
      } else if (isServerResult(block) && !open.delete(idIn(block, 'tool_use_id'))) {
        unpaired.add(place);
      }
    }
  }
  return unpaired;
}

const endsTurn = ({ role, content }: Message): boolean =>
  role === 'user' && content.some(({ type }) => type !== 'tool_result');

export const isServerCall = ({ type }: ContentBlock): boolean =>
  type === 'server_tool_use' || type === 'mcp_tool_use';

export const isServerResult = ({ type }: ContentBlock): boolean =>
  type !== 'tool_result' && type.endsWith('_tool_result');

function idIn(block: ContentBlock, field: 'id' | 'tool_use_id'): string {
  const id: unknown = Object.entries(block).find(([name]) => name === field)?.[1];
  return typeof id === 'string' ? id : '';
}
