import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { chartOf } from '../../src/diagrams/chart.ts';
import { toMermaid } from '../../src/diagrams/mermaid.ts';
import { sampleMachine } from './sample-machine.ts';

function linesOf(text: string) {
  return text.split('\n').map((line) => line.trim());
}

describe('toMermaid', () => {
  const lines = linesOf(toMermaid(chartOf(sampleMachine)));

  it('begins with the kind of diagram', () => {
    expect(lines[0]).toBe('stateDiagram-v2');
  });

  it.each([
    ['a state with what it does', 'state "load, does fetchPage" as s_load'],
    ['a group', 'state "work" as s_work {'],
    ['a history state', 'state "back (deep history)" as s_work_left_back'],
    ['the start', '[*] --> s_load'],
    ['the start of a group', '[*] --> s_work_left_ask'],
    ['an end', 's_finished --> [*]'],
    ['an event', 's_work --> s_failed : work.stopped'],
    ['a guarded branch', 's_route --> s_work : 1. [isLarge]'],
    ['the last branch', 's_route --> s_finished : 3. [else]'],
    ['the end of an actor', 's_load --> s_work : 3. done [else]'],
    ['the error of an actor', 's_load --> s_failed : error'],
    ['a delay', 's_load --> s_failed : after 1000 ms'],
    ['regions that run at the same time', '--'],
    ['a reaction that stays', 'after patience / warn'],
    ['a reaction of the machine itself', 'any other event / noteUnknown'],
    ['a line into a group from its border', 'reset → load'],
    ['a tag', 'class s_load tag_busy'],
    ['a tag without a colour', 'class s_work_left_ask tag_slow'],
  ])('writes %s', (_, line) => {
    expect(lines).toContain(line);
  });

  it('opens and closes as many blocks', () => {
    const opened = lines.filter((line) => line.endsWith('{')).length;
    expect(lines.filter((line) => line === '}')).toHaveLength(opened);
  });

  it.each([
    ['a;b', 'a#59;b'],
    ['a: "b"', 'a#58; #34;b#34;'],
    ['a\n}', 'a#10;#125;'],
    ['%% no comment', '#37;#37; no comment'],
    ['<b>#1</b>', '#60;b#62;#35;1#60;/b#62;'],
    ['\ud800', '\ufffd'],
    ['süß 好', 'süß 好'],
  ])('writes the event %j so that it cannot be syntax', (event, expected) => {
    const machine = createMachine({
      initial: 'end',
      states: { end: { on: { [event]: 'note' } }, note: {} },
    });
    expect(toMermaid(chartOf(machine))).toContain(`\n  s_end --> s_note : ${expected}\n`);
  });

  it('gives different states different names', () => {
    const machine = createMachine({ initial: 'a b', states: { 'a b': {}, 'a-b': {}, 'a.b': {} } });
    const names = toMermaid(chartOf(machine)).match(/(?<= as )\S+/g);
    expect(names).toEqual(['s_a_b', 's_a_b_2', 's_a_b_3']);
  });
});
