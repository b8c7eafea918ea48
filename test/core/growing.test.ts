import { describe, expect, it } from 'vitest';
import { gathered } from '../../src/core/growing.ts';
import { type Message, userMessage } from '../../src/core/message.ts';

const [one, two, three, four] = ['1', '2', '3', '4'].map(userMessage) as [
  Message,
  Message,
  Message,
  Message,
];

/** The texts of a transcript, and how many messages were looked at for them. */
function texts() {
  let looks = 0;
  const of = gathered<string[]>(
    () => [],
    (state, { content }) => {
      looks += 1;
      state.push(content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
    },
  );
  return { of: (...messages: Message[]) => [...of(messages)], looks: () => looks };
}

describe('what is gathered from a transcript', () => {
  it('looks at new messages only when it has grown', () => {
    const { of, looks } = texts();
    expect(of(one, two)).toEqual(['1', '2']);
    expect(of(one, two, three)).toEqual(['1', '2', '3']);
    expect(of(one, two, three)).toEqual(['1', '2', '3']);
    expect(looks()).toBe(3);
  });

  it.each<[string, Message[], string[]]>([
    ['has fewer messages', [one], ['1']],
    ['is another one from some message on', [one, four, three], ['1', '4', '3']],
    ['begins otherwise', [four, two, three], ['4', '2', '3']],
    ['is empty', [], []],
  ])('begins anew for one that %s', (_, messages, expected) => {
    const { of } = texts();
    of(one, two, three);
    expect(of(...messages)).toEqual(expected);
    expect(of(one, two, three)).toEqual(['1', '2', '3']);
  });

  it('does not mind a caller who changes the list', () => {
    const { of } = texts();
    const messages = [one, two];
    of(...messages);
    messages[1] = four;
    expect(of(...messages)).toEqual(['1', '4']);
  });
});
