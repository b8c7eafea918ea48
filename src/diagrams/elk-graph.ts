/** A chart in the form that ELK lays out: nested nodes, edges with labels, sizes and spacing. */
import type { ElkExtendedEdge, ElkNode } from 'elkjs';
import type { ChartState } from './chart.ts';
import { boxSizeOf, headHeightOf, labelSizeOf } from './measure.ts';
import type { Plan, PlannedLine } from './plan.ts';

/** `isBack`: the line runs against the flow, so ELK gets it turned round. */
export interface GraphLine extends PlannedLine {
  readonly isBack: boolean;
}

const startSize = 10;

const layoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.spacing.nodeNodeBetweenLayers': '34',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '18',
  'elk.spacing.edgeEdge': '14',
};

export function stateId(path: string): string {
  return `state:${path}`;
}

/** Names both the dot that marks where a group is entered and the line from it. */
export function startId(path: string): string {
  return `start:${path}`;
}

export function lineId(index: number): string {
  return `line:${index}`;
}

/** The whole graph. ELK writes its results into it, so every layout needs a new one. */
export function graphOf(
  root: ChartState,
  notes: Plan['notes'],
  lines: readonly GraphLine[],
  randomSeed: number,
): ElkNode {
  const node = nodeOf(root, notes);
  return {
    ...node,
    edges: [...startEdgesOf(root), ...lines.map(edgeOf)],
    layoutOptions: { ...node.layoutOptions, ...layoutOptions, 'elk.randomSeed': `${randomSeed}` },
  };
}

function nodeOf(state: ChartState, notes: Plan['notes']): ElkNode {
  const own = notes.get(state.path) ?? [];
  const size = boxSizeOf(state, own);
  const id = stateId(state.path);
  if (state.states.length === 0) return { id, ...size };
  const start = { id: startId(state.path), width: startSize, height: startSize };
  const children = state.states.map((child) => nodeOf(child, notes));
  return {
    id,
    children: state.initial === null ? children : [start, ...children],
    layoutOptions: {
      'elk.padding': `[top=${headHeightOf(state, own) + 14},left=18,bottom=18,right=18]`,
      'elk.nodeSize.constraints': '[MINIMUM_SIZE]',
      // Width and height change places: in a chart that runs down, ELK turns a group's minimum on its side.
      'elk.nodeSize.minimum': `(${size.height},${size.width})`,
    },
  };
}

function startEdgesOf({ path, initial, states }: ChartState): readonly ElkExtendedEdge[] {
  const inner = states.flatMap(startEdgesOf);
  if (initial === null) return inner;
  return [{ id: startId(path), sources: [startId(path)], targets: [stateId(initial)] }, ...inner];
}

function edgeOf({ source, target, labels, isBack }: GraphLine, index: number): ElkExtendedEdge {
  const [from, to] = isBack ? [target, source] : [source, target];
  const label = {
    text: labels.join('\n'),
    ...labelSizeOf(labels),
    layoutOptions: { 'elk.edgeLabels.inline': 'true' },
  };
  return {
    id: lineId(index),
    sources: [stateId(from)],
    targets: [stateId(to)],
    labels: labels.length === 0 ? [] : [label],
  };
}
