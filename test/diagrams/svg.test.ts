import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { allStates, chartOf, isInside } from '../../src/diagrams/chart.ts';
import { type Box, layOut, type Wire } from '../../src/diagrams/layout.ts';
import { wrapText } from '../../src/diagrams/measure.ts';
import { toSvg } from '../../src/diagrams/svg.ts';
import { escapeXml } from '../../src/diagrams/xml.ts';
import { sampleMachine } from './sample-machine.ts';

const chart = chartOf(sampleMachine);

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function overlap(one: Area, other: Area): boolean {
  const isApartX = one.x + one.width <= other.x || other.x + other.width <= one.x;
  const isApartY = one.y + one.height <= other.y || other.y + other.height <= one.y;
  return !isApartX && !isApartY;
}

function pairsOf<Item>(items: readonly Item[]): readonly (readonly [Item, Item])[] {
  return items.flatMap((one, index) =>
    items.slice(index + 1).map((other) => [one, other] as const),
  );
}

describe('layOut', async () => {
  const layout = await layOut(chart);
  const labels = layout.wires.flatMap(({ label }: Wire) => (label === null ? [] : [label]));
  const areRelated = (one: Box, other: Box) =>
    isInside(one.state.path, other.state.path) || isInside(other.state.path, one.state.path);

  it('gives every state a box and every line its points', () => {
    expect(layout.boxes.map(({ state }) => state)).toEqual(allStates(chart.root));
    expect(layout.wires.every(({ points }) => points.length >= 2)).toBe(true);
    expect(layout.starts).toHaveLength(3);
  });

  it('keeps states apart that are not inside each other', () => {
    const clashes = pairsOf(layout.boxes).filter(([a, b]) => !areRelated(a, b) && overlap(a, b));
    expect(clashes).toEqual([]);
  });

  it('keeps labels apart from each other and off the states', () => {
    const leaves = layout.boxes.filter(({ state }) => state.states.length === 0);
    expect(pairsOf(labels).filter(([a, b]) => overlap(a, b))).toEqual([]);
    expect(labels.filter((label) => leaves.some((box) => overlap(box, label)))).toEqual([]);
  });

  it('lets a line that runs back end at its target', () => {
    const back = layout.wires.find(({ source, target }) => source === 'route' && target === 'load');
    const load = layout.boxes.find(({ state }) => state.path === 'load');
    const tip = back?.points.at(-1);
    expect(tip?.y).toBeCloseTo((load?.y ?? 0) + (load?.height ?? 0));
  });
});

describe('toSvg', async () => {
  const svg = await toSvg(chart);

  it('draws the same bytes for the same machine', async () => {
    expect(await toSvg(chartOf(sampleMachine))).toBe(svg);
  });

  it.each([
    ['its title', '<title id="statechart-title">State chart of sample</title>'],
    ['its states in words', 'A machine with one of everything. 12 states: load, work,'],
    ['what a state does', '>does fetchPage</text>'],
    ['guards in brackets', '>1. [isLarge]</text>'],
    ['a note of an error', 'class="note error"'],
    ['a parallel state', '>all of these at the same time</text>'],
    ['a tag as a colour', 'class="atomic tag-busy" data-path="load"'],
    ['a tag without a colour', '>#slow</text>'],
    ['a legend for the colours in use', '>waitsForHuman</text>'],
    ['a dark scheme', '@media (prefers-color-scheme:dark)'],
    ['a final state with two borders', '<rect class="inner"'],
    ['a description, escaped', 'Fetches &lt;what&gt; is'],
  ])('shows %s', (_, part) => {
    expect(svg).toContain(part);
  });

  it('highlights the active states and the groups around them', async () => {
    const active = await toSvg(chart, { active: ['work.left.ask', 'work.right.count'] });
    const paths = [...active.matchAll(/class="[^"]* active" data-path="([^"]*)"/g)];
    expect(paths.map(([, path]) => path)).toEqual([
      'work',
      'work.left',
      'work.left.ask',
      'work.right',
      'work.right.count',
    ]);
  });

  it('holds no markup and no control character from the machine', async () => {
    const key = '"><script>\u0007';
    const machine = createMachine({ id: key, initial: key, states: { [key]: { tags: key } } });
    const hostile = await toSvg(chartOf(machine));
    expect(hostile).not.toContain('<script');
    expect(hostile).not.toContain('\u0007');
  });

  it('draws a machine without states', async () => {
    expect(await toSvg(chartOf(createMachine({ id: 'empty' })))).toContain('>empty</text>');
  });
});

describe('escapeXml', () => {
  it.each([
    [`<a href="x">&'`, '&lt;a href=&quot;x&quot;&gt;&amp;&apos;'],
    ['\u0000\u001b\uffff', '\ufffd\ufffd\ufffd'],
    ['a\ud800b', 'a\ufffdb'],
    ['😀', '😀'],
  ])('escapes %j', (text, expected) => {
    expect(escapeXml(text)).toBe(expected);
  });
});

describe('wrapText', () => {
  it.each([
    ['', 10, []],
    ['one two', 10, ['one two']],
    ['one two three four', 15, ['one two', 'three four']],
    ['incomprehensible word', 5, ['incomprehensible', 'word']],
  ])('breaks %j at %i characters', (text, characters, lines) => {
    expect(wrapText(text, characters)).toEqual(lines);
  });
});
