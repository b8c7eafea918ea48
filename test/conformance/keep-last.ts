import type { ContentBlock, Message } from 'pawl';

/** A compaction: the first message of the user and the last `count`, or one more where a pair would be cut. */
export function keepLast(messages: readonly Message[], count: number): readonly Message[] {
  const [first] = messages;
  let start = Math.max(1, messages.length - count);
  if (messages[start]?.content.some(isResult)) start -= 1;
  return first && start > 1 ? [first, ...messages.slice(start)] : messages;
}

const isResult = ({ type }: ContentBlock): boolean => type === 'tool_result';
