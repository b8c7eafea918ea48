import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Message, text, userMessage } from '../../src/core/message.ts';
import { countRepeats } from '../../src/core/repeats.ts';
import { toolUse } from './sample-run.ts';

/** One turn for each letter: a call of the tool of that name. Poll is spelled p. */
function transcript(turns: readonly string[]): Message[] {
  return [
    userMessage('begin'),
    ...turns.flatMap((names, turn): Message[] => {
      if (names === '.') return [{ role: 'assistant', content: [text('just text')] }];
      const uses = [...names].map((name, index) => toolUse(`${turn}_${index}`, name, { q: name }));
      const results = uses.map(({ id }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: `answer ${turn}`,
      }));
      return [
        { role: 'assistant', content: [text(`thought ${turn}`), ...uses] },
        { role: 'user', content: results },
      ];
    }),
  ];
}

const isCounted = (name: string): boolean => name !== 'p';
const count = (turns: string, most = 10): number =>
  countRepeats(transcript(turns.split(' ').filter(Boolean)), isCounted, most);

describe('countRepeats', () => {
  it.each([
    ['no turn', '', 0],
    ['one call', 'A', 1],
    ['the same twice', 'A A', 2],
    ['the same four times', 'A A A A', 4],
    ['something else last', 'A A B', 1],
    ['something else before', 'B A A', 2],
    ['two that take turns, one round', 'A B', 1],
    ['two that take turns, a round and a half', 'A B A', 1],
    ['two that take turns, two rounds', 'A B A B', 2],
    ['two that take turns, three rounds', 'A B A B A B', 3],
    ['two that take turns, after something else', 'C A B A B', 2],
    ['a round broken in the middle', 'A B C A B', 1],
    ['three that take turns: progress is possible', 'A B C A B C', 1],
    ['the same batch', 'AB AB AB', 3],
    ['the same batch in another order', 'AB BA AB', 3],
    ['a batch that holds one call twice is one turn', 'AA', 1],
    ['a batch with one call more', 'AB ABC', 1],
    ['the same call once and twice are not the same turn', 'A AA', 1],
    ['a turn of text in between', 'A A . A', 1],
    ['a last turn of text', 'A A .', 0],
    ['calls that may be repeated', 'p p p', 0],
    ['calls that may be repeated, beside others', 'Ap Ap Ap', 3],
    ['others that only change what may be repeated', 'A Ap A', 3],
    ['a turn that only polls in between', 'A p A', 1],
  ])('of %s', (_, turns, expected) => {
    expect(count(turns)).toBe(expected);
  });

  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [5, 4],
  ])('stops counting at %i', (most, expected) => {
    expect(count('A A A A', most)).toBe(expected);
    expect(count('A B A B A B A B', most)).toBe(expected);
  });

  it.each<[string, object, object, number]>([
    ['keys in another order', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }, 2],
    ['another value', { a: 1 }, { a: 2 }, 1],
    ['a number and its text', { a: 1 }, { a: '1' }, 1],
    ['a list in another order', { a: [1, 2] }, { a: [2, 1] }, 1],
    ['a prototype-named key', JSON.parse('{"__proto__":1}'), {}, 1],
  ])('compares arguments by what they say: %s', (_, first, second, expected) => {
    const messages = [first, second].map(
      (input, index): Message => ({
        role: 'assistant',
        content: [toolUse(String(index), 'A', input as Record<string, never>)],
      }),
    );
    expect(countRepeats(messages, isCounted, 10)).toBe(expected);
  });

  it('does not take one call for two that its text could spell', () => {
    const first = [toolUse('1', 'a', {}), toolUse('2', 'b', {})];
    const second = [toolUse('3', 'a {}","b', {})];
    const messages = [first, second].map((content): Message => ({ role: 'assistant', content }));
    expect(countRepeats(messages, isCounted, 10)).toBe(1);
  });

  it('finds any row that ends a transcript, whatever came before', () => {
    let rows = 0;
    const letters = fc.array(fc.constantFrom('A', 'B', 'C', '.'), { maxLength: 12 });
    fc.assert(
      fc.property(
        letters,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        (before, row, most) => {
          const turns = [...before, ...Array.from({ length: row }, () => 'D')];
          expect(countRepeats(transcript(turns), isCounted, most)).toBe(Math.min(row, most));
          const rounds = [...before, ...Array.from({ length: row }, () => ['D', 'E']).flat()];
          expect(countRepeats(transcript(rounds), isCounted, most)).toBe(Math.min(row, most));
          if (row > most) rows += 1;
        },
      ),
      { numRuns: 300 },
    );
    expect(rows).toBeGreaterThan(30);
  });

  it('looks no further back than it has to', () => {
    const messages = transcript(Array.from({ length: 50 }, () => 'A'));
    let read = 0;
    const counting = (name: string) => {
      read += 1;
      return isCounted(name);
    };
    expect(countRepeats(messages, counting, 3)).toBe(3);
    expect(read).toBe(6);
  });
});
