/** Which lines run against the flow of a chart: drawn upwards, so that everything else runs down from the start. */
import type { ChartState } from './chart.ts';
import { isInside } from './chart.ts';

interface Ends {
  readonly source: string;
  readonly target: string;
}

/**
 * Walks every group from its initial state, in the order of the lines, and finds the lines that close a circle.
 * A line between different groups counts as one between the outermost states that it parts.
 */
export function findBackLines<Line extends Ends>(
  root: ChartState,
  lines: readonly Line[],
): ReadonlySet<Line> {
  const inner = root.states.flatMap((state) => [...findBackLines(state, lines)]);
  const steps = lines.flatMap((line) => {
    const from = childAround(root, line.source);
    const to = childAround(root, line.target);
    return from === null || to === null || from === to ? [] : [{ line, from, to }];
  });
  return new Set([...inner, ...closingSteps(startFirst(root), steps).map(({ line }) => line)]);
}

interface Step<Line> {
  readonly line: Line;
  readonly from: string;
  readonly to: string;
}

function closingSteps<Line>(
  paths: readonly string[],
  steps: readonly Step<Line>[],
): readonly Step<Line>[] {
  const closing: Step<Line>[] = [];
  const seen = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    seen.add(path);
    for (const step of steps.filter(({ from }) => from === path)) {
      if (step.to === path || trail.includes(step.to)) closing.push(step);
      else if (!seen.has(step.to)) visit(step.to, [...trail, path]);
    }
  };
  for (const path of paths) if (!seen.has(path)) visit(path, []);
  return closing;
}

function startFirst({ initial, states }: ChartState): readonly string[] {
  const paths = states.map(({ path }) => path);
  return initial === null ? paths : [initial, ...paths];
}

function childAround({ states }: ChartState, path: string): string | null {
  return states.find((child) => child.path === path || isInside(path, child.path))?.path ?? null;
}
