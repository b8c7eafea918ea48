import { describe, expect, it } from 'vitest';
import { chartOf } from '../../src/diagrams/chart.ts';
import { findBackLines } from '../../src/diagrams/flow.ts';
import { planPicture } from '../../src/diagrams/plan.ts';
import { sampleMachine } from './sample-machine.ts';

const chart = chartOf(sampleMachine);
const plan = planPicture(chart);

function lineBetween(source: string, target: string) {
  return plan.lines.find((line) => line.source === source && line.target === target);
}

function notesIn(path: string) {
  return plan.notes.get(path)?.map(({ text }) => text);
}

describe('planPicture', () => {
  it.each([
    ['load', 'work', ['3. done [else]']],
    ['load', 'failed', ['1. done [isEmpty]', 'after 1000 ms']],
    ['work', 'failed', ['work.stopped']],
    ['work', 'route', ['done']],
    ['work.left.ask', 'work.left.answered', ['answer.given']],
    ['route', 'finished', ['3. [else]']],
  ])('draws one line from "%s" to "%s" with all its labels', (source, target, labels) => {
    expect(lineBetween(source, target)?.labels).toEqual(labels);
  });

  it.each([
    ['', ['any other event / noteUnknown', 'reset → load']],
    ['load', ['2. done [isStale] ↻ again', 'error → failed', 'after patience / warn']],
    ['work.right.count', ['error → failed']],
    ['route', []],
  ])('writes into "%s" what would be no good line', (path, notes) => {
    expect(notesIn(path)).toEqual(notes);
  });
});

describe('findBackLines', () => {
  it('finds the lines that close a circle, on the way from the initial state', () => {
    const back = [...findBackLines(chart.root, plan.lines)];
    expect(back.map(({ source, target }) => [source, target])).toEqual([
      ['route', 'work'],
      ['route', 'load'],
    ]);
  });

  it('leaves no circle in any group', () => {
    const back = findBackLines(chart.root, plan.lines);
    const rest = plan.lines.filter((line) => !back.has(line));
    expect(findBackLines(chart.root, rest).size).toBe(0);
  });
});
