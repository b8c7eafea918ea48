import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentBlock, type Message, toolUsesIn } from '../../src/core/message.ts';
import { isLegalId, takeId, withUniqueIds } from '../../src/core/tool-use-ids.ts';

const use = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'search', input: {} });
const result = (id: string, content: string): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});

describe('takeId', () => {
  it.each([
    ['a free one, as it is', 'toolu_01-A', [], 'toolu_01-A'],
    ['a taken one, numbered', 'a', ['a'], 'a_2'],
    ['the first number that is free', 'a', ['a', 'a_2', 'a_4'], 'a_3'],
    ['a prototype-named one, as it is', '__proto__', [], '__proto__'],
    ['illegal characters, replaced', 'fn.bash:0 é', [], 'fn_bash_0__'],
    ['a lone surrogate, replaced', '\ud800', [], '_'],
    ['an empty one, named', '', [], 'call'],
    ['a second empty one', '', ['call'], 'call_2'],
    ['a long one, cut', 'x'.repeat(100), [], 'x'.repeat(56)],
  ])('gives %s', (_, id, taken, expected) => {
    const set = new Set(taken);
    expect(takeId(id, set)).toBe(expected);
    expect([...set]).toEqual([...taken, expected]);
  });

  it('gives legal ids that are all different, whatever was asked for', () => {
    let changed = 0;
    const anyId = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.constantFrom('a', 'a_2', ''),
    );
    fc.assert(
      fc.property(fc.array(anyId, { maxLength: 30 }), (ids) => {
        const taken = new Set<string>();
        const given = ids.map((id) => takeId(id, taken));
        if (given.some((id, index) => id !== ids[index])) changed += 1;
        expect(new Set(given).size).toBe(ids.length);
        expect(given.every((id) => isLegalId(id) || /_\d+$/.test(id))).toBe(true);
        for (const id of given) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }),
    );
    expect(changed).toBeGreaterThan(30);
  });
});

describe('withUniqueIds', () => {
  const assistant = (...content: ContentBlock[]): Message => ({ role: 'assistant', content });
  const user = (...content: ContentBlock[]): Message => ({ role: 'user', content });

  it('lets the n-th result of an id follow its n-th use', () => {
    const messages = [
      assistant(use('a'), use('b'), use('a')),
      user(result('a', '1'), result('a', '2'), result('b', '3'), result('a', '4')),
    ];
    expect(withUniqueIds(messages)).toEqual([
      assistant(use('a'), use('b'), use('a_2')),
      user(result('a', '1'), result('a_2', '2'), result('b', '3')),
    ]);
  });

  it('tells the calls of two messages apart that reuse an id', () => {
    const turn = (answer: string) => [assistant(use('call_0')), user(result('call_0', answer))];
    const messages = withUniqueIds([...turn('1'), ...turn('2')]);
    expect(messages.flatMap(toolUsesIn).map(({ id }) => id)).toEqual(['call_0', 'call_0_2']);
    expect(messages[3]).toEqual(user(result('call_0_2', '2')));
  });

  it('leaves out results that answer nothing in the message before', () => {
    const messages = [user(result('a', '1')), assistant(use('a')), user(result('b', '2'))];
    expect(withUniqueIds(messages)).toEqual([user(), assistant(use('a')), user()]);
  });
});
