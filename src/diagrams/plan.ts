/** Decides which transitions a picture draws as lines, and which it writes inside the state's box. */
import { allStates, type Chart, type ChartEdge, type ChartState, isInside } from './chart.ts';
import { describeEdge, describeReaction, lastKey } from './wording.ts';

/** A line from state to state, with one label for each transition that it stands for. */
export interface PlannedLine {
  readonly source: string;
  readonly target: string;
  readonly labels: readonly string[];
  readonly isError: boolean;
}

export interface PlannedNote {
  readonly text: string;
  readonly isError: boolean;
}

export interface Plan {
  readonly lines: readonly PlannedLine[];
  /** By state path. */
  readonly notes: ReadonlyMap<string, readonly PlannedNote[]>;
}

/**
 * Lines show the way through the chart. Written inside the box instead: transitions that stay, that go back to the
 * same state, into it or out to its own group, and errors that all end in the same final state, which would cross the whole picture.
 */
export function planPicture(chart: Chart): Plan {
  const states = allStates(chart.root);
  const crowded = findCrowded(states);
  const notes = new Map<string, readonly PlannedNote[]>();
  const lines = new Map<string, PlannedLine>();
  for (const state of states) {
    const isNote = (edge: ChartEdge) => isBetterWritten(edge, crowded);
    notes.set(
      state.path,
      state.edges.filter(isNote).map((edge) => noteOf(edge, state)),
    );
    for (const edge of state.edges.filter((candidate) => !isNote(candidate))) {
      addLines(lines, edge, state);
    }
  }
  return { lines: [...lines.values()], notes };
}

function isBetterWritten(edge: ChartEdge, crowded: ReadonlySet<string>): boolean {
  const { source, targets } = edge;
  const isNear = (target: string) =>
    target === source || isInside(target, source) || isInside(source, target);
  if (targets.every(isNear)) return true;
  return edge.kind === 'error' && targets.every((target) => crowded.has(target));
}

/** The final states in which the errors of two or more states end. */
function findCrowded(states: readonly ChartState[]): ReadonlySet<string> {
  const finals = states.filter(({ type }) => type === 'final').map(({ path }) => path);
  const hasErrorInto = (state: ChartState, target: string) =>
    state.edges.some(({ kind, targets }) => kind === 'error' && targets.includes(target));
  return new Set(
    finals.filter((path) => states.filter((state) => hasErrorInto(state, path)).length > 1),
  );
}

function noteOf(edge: ChartEdge, state: ChartState): PlannedNote {
  const isError = edge.kind === 'error';
  if (edge.targets.length === 0) return { text: describeReaction(edge, state), isError };
  const isAgain = edge.targets.every((target) => target === edge.source);
  const goal = isAgain ? '↻ again' : `→ ${edge.targets.map(lastKey).join(', ')}`;
  return { text: `${describeEdge(edge, state)} ${goal}`.trimStart(), isError };
}

function addLines(lines: Map<string, PlannedLine>, edge: ChartEdge, state: ChartState): void {
  const label = describeEdge(edge, state);
  for (const target of edge.targets) {
    const key = JSON.stringify([edge.source, target]);
    const line = lines.get(key);
    const labels = [...(line?.labels ?? []), ...(label === '' ? [] : [label])];
    const isError = edge.kind === 'error' && (line?.isError ?? true);
    lines.set(key, { source: edge.source, target, labels, isError });
  }
}
