/** Places a chart's states and lines on a plane, with ELK. */
import type { ElkExtendedEdge, ElkNode } from 'elkjs';
import { allStates, type Chart, type ChartState } from './chart.ts';
import { type GraphLine, graphOf, lineId, startId, stateId } from './elk-graph.ts';
import { findBackLines } from './flow.ts';
import type { Size } from './measure.ts';
import { type Plan, type PlannedLine, type PlannedNote, planPicture } from './plan.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** All measures are in pixels, from the picture's top left corner. */
export interface Box extends Point, Size {
  readonly state: ChartState;
  readonly notes: readonly PlannedNote[];
}

export interface Wire extends PlannedLine {
  readonly points: readonly Point[];
  readonly label: (Point & Size) | null;
}

export interface Layout extends Size {
  /** Parents before the states inside them. The first is the machine itself. */
  readonly boxes: readonly Box[];
  readonly wires: readonly Wire[];
  /** The dots that mark where a group is entered, and the bare lines from them. */
  readonly starts: readonly (Point & Size & { readonly points: readonly Point[] })[];
}

/** ELK throws dice for the order of states. A few throws are tried; the one with the shortest lines is kept. */
const randomSeeds = [1, 2, 3, 4, 5, 6, 7, 8];

/** Lays a chart out, top to bottom. The same chart gives the same layout. */
export async function layOut(chart: Chart): Promise<Layout> {
  const { default: elk } = await import('elkjs/lib/elk.bundled.js');
  const engine = new elk.default();
  const plan = planPicture(chart);
  const backLines = findBackLines(chart.root, plan.lines);
  const lines = plan.lines.map((line) => ({ ...line, isBack: backLines.has(line) }));
  const layouts: Layout[] = [];
  for (const seed of randomSeeds) {
    const placed: ElkNode = await engine.layout(graphOf(chart.root, plan.notes, lines, seed));
    layouts.push(readLayout(placed, chart.root, plan, lines));
  }
  return layouts.reduce((best, next) => (lengthOf(next) < lengthOf(best) ? next : best));
}

function readLayout(
  placed: ElkNode,
  root: ChartState,
  { notes }: Plan,
  lines: readonly GraphLine[],
): Layout {
  const places = new Map(flatten(placed).map((node) => [node.id, placeOf(node)]));
  const edges = new Map((placed.edges ?? []).map((edge) => [edge.id, edge]));
  const pointsOf = (id: string) => readPoints(edges.get(id));
  const states = allStates(root);
  return {
    width: placed.width ?? 0,
    height: placed.height ?? 0,
    boxes: states.map((state) => ({
      ...(places.get(stateId(state.path)) ?? placeOf({})),
      state,
      notes: notes.get(state.path) ?? [],
    })),
    wires: lines.map(({ isBack, ...line }, index) => {
      const [label] = edges.get(lineId(index))?.labels ?? [];
      const points = pointsOf(lineId(index));
      return {
        ...line,
        points: isBack ? points.toReversed() : points,
        label: label === undefined ? null : placeOf(label),
      };
    }),
    starts: states.flatMap(({ path }) => {
      const place = places.get(startId(path));
      return place === undefined ? [] : [{ ...place, points: pointsOf(startId(path)) }];
    }),
  };
}

function flatten(node: ElkNode): readonly ElkNode[] {
  return [node, ...(node.children ?? []).flatMap(flatten)];
}

function placeOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Point & Size>): Point & Size {
  return { x, y, width, height };
}

function readPoints(edge: ElkExtendedEdge | undefined): readonly Point[] {
  return (edge?.sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }) => [
    startPoint,
    ...bendPoints,
    endPoint,
  ]);
}

function lengthOf({ wires }: Layout): number {
  const lengths = wires.flatMap(({ points }) =>
    points.slice(1).map((point, index) => {
      const before = points[index] ?? point;
      return Math.abs(point.x - before.x) + Math.abs(point.y - before.y);
    }),
  );
  return lengths.reduce((sum, length) => sum + length, 0);
}
