/** A model takes back its own thinking only: a signature of another one makes an API refuse the request. */
import { gathered } from './growing.ts';
import type { ContentBlock, Message, RedactedThinkingBlock, ThinkingBlock } from './message.ts';

type Thinking = ThinkingBlock | RedactedThinkingBlock;

export const isThinking = (block: ContentBlock): block is Thinking =>
  block.type === 'thinking' || block.type === 'redacted_thinking';

/** The blocks of a reply, with the model's name on its thinking. */
export const thinkingOf = (
  model: string,
  content: readonly ContentBlock[],
): readonly ContentBlock[] =>
  content.map((block) => (isThinking(block) ? { ...block, model } : block));

/** Without the thinking of other models, and without the names: no API knows them. */
export const thinkingFor = (model: string, messages: readonly Message[]): readonly Message[] =>
  thoughtsIn(messages).areAny
    ? messages.map((message) =>
        hasThinking(message)
          ? { ...message, content: message.content.flatMap((block) => unnamed(block, model)) }
          : message,
      )
    : messages;

const thoughtsIn = gathered(
  () => ({ areAny: false }),
  (thoughts, message) => {
    thoughts.areAny ||= hasThinking(message);
  },
);

const hasThinking = ({ content }: Message): boolean => content.some(isThinking);

function unnamed(block: ContentBlock, reader: string): readonly ContentBlock[] {
  if (!isThinking(block) || block.model === undefined) return [block];
  const { model, ...rest } = block;
  return model === reader ? [rest] : [];
}
