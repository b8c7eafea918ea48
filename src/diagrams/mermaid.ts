/** A chart as Mermaid text (`stateDiagram-v2`), for documents that draw it themselves. */
import { allStates, type Chart, type ChartEdge, type ChartState, isInside } from './chart.ts';
import { describeEdge, describeReaction, lastKey } from './wording.ts';

type Ids = ReadonlyMap<string, string>;

const tagStyles = new Map([
  ['busy', 'fill:#e6f0ff,stroke:#5b8def,color:#1b2230'],
  ['waitsForHuman', 'fill:#fff1d6,stroke:#d98a00,color:#1b2230'],
]);
const otherTagStyle = 'stroke-dasharray:4 3';

/** Writes a chart as a Mermaid state diagram. Ends with a line break; the same chart gives the same text. */
export function toMermaid(chart: Chart): string {
  const states = allStates(chart.root);
  const ids: Ids = idsOf(states);
  const lines = [
    'stateDiagram-v2',
    ...chart.root.states.flatMap((state) => drawState(state, ids)),
    ...drawEnds(chart.root, ids),
    ...states.flatMap((state) => drawEdges(state, ids)),
    ...states.flatMap((state) => drawNotes(state, ids)),
    ...drawTags(states, ids),
  ];
  return `${lines.map((line, index) => (index === 0 ? line : `  ${line}`)).join('\n')}\n`;
}

/** Names without dots or words that Mermaid keeps for itself, different for every state. */
function idsOf(states: readonly ChartState[]): Ids {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  for (const { path } of states) {
    const plain = `s_${path.replace(/[^A-Za-z0-9]+/g, '_')}`;
    let id = plain;
    for (let count = 2; taken.has(id); count += 1) id = `${plain}_${count}`;
    taken.add(id);
    ids.set(path, id);
  }
  return ids;
}

function idOf(ids: Ids, path: string): string {
  return ids.get(path) ?? path;
}

function drawState(state: ChartState, ids: Ids): readonly string[] {
  const heading = `state "${escapeText(titleOf(state))}" as ${idOf(ids, state.path)}`;
  if (state.states.length === 0) return [heading];
  const inner =
    state.type === 'parallel'
      ? state.states.flatMap((region, index) => [
          ...(index === 0 ? [] : ['--']),
          ...drawState(region, ids),
        ])
      : [...state.states.flatMap((child) => drawState(child, ids)), ...drawEnds(state, ids)];
  return [`${heading} {`, ...inner.map((line) => `  ${line}`), '}'];
}

function titleOf(state: ChartState): string {
  const history = state.type === 'history' ? ` (${state.history} history)` : '';
  return [`${state.key}${history}`, ...state.invokes.map(({ src }) => `does ${src}`)].join(', ');
}

/** Where a group is entered, and where it is done. */
function drawEnds({ initial, states }: ChartState, ids: Ids): readonly string[] {
  const finals = states.filter(({ type }) => type === 'final');
  return [
    ...(initial === null ? [] : [`[*] --> ${idOf(ids, initial)}`]),
    ...finals.map(({ path }) => `${idOf(ids, path)} --> [*]`),
  ];
}

function drawEdges(state: ChartState, ids: Ids): readonly string[] {
  return state.edges.flatMap((edge) =>
    edge.targets
      .filter((target) => isDrawable(edge.source, target))
      .map((target) => {
        const label = escapeText(describeEdge(edge, state));
        const ends = `${idOf(ids, edge.source)} --> ${idOf(ids, target)}`;
        return label === '' ? ends : `${ends} : ${label}`;
      }),
  );
}

/** Mermaid cannot draw a line from a group to its own inside, and the machine itself is no box in its diagram. */
function isDrawable(source: string, target: string): boolean {
  return source !== '' && target !== '' && !isInside(target, source) && !isInside(source, target);
}

/** What has no line of its own: reactions that stay in the state, and lines that cannot be drawn. */
function drawNotes(state: ChartState, ids: Ids): readonly string[] {
  const texts = state.edges.flatMap((edge) => noteOf(edge, state));
  if (texts.length === 0) return [];
  const anchor = state.path === '' ? state.states[0]?.path : state.path;
  if (anchor === undefined) return [];
  const heading = state.path === '' ? ['At any time:'] : [];
  const lines = [...heading, ...texts].map((text) => `  ${escapeText(text)}`);
  return [`note right of ${idOf(ids, anchor)}`, ...lines, 'end note'];
}

function noteOf(edge: ChartEdge, state: ChartState): readonly string[] {
  if (edge.targets.length === 0) return [describeReaction(edge, state)];
  const hidden = edge.targets.filter((target) => !isDrawable(edge.source, target));
  if (hidden.length === 0) return [];
  return [`${describeEdge(edge, state)} → ${hidden.map(lastKey).join(', ')}`];
}

function drawTags(states: readonly ChartState[], ids: Ids): readonly string[] {
  const tags = [...new Set(states.flatMap((state) => state.tags))];
  return tags.flatMap((tag) => {
    const name = `tag_${tag.replace(/[^A-Za-z0-9]+/g, '_')}`;
    const members = states.filter(({ path, tags }) => path !== '' && tags.includes(tag));
    if (members.length === 0) return [];
    return [
      `classDef ${name} ${tagStyles.get(tag) ?? otherTagStyle}`,
      `class ${members.map(({ path }) => idOf(ids, path)).join(',')} ${name}`,
    ];
  });
}

/** Writes every character that could be syntax as a character code; `#59;` is how Mermaid spells a semicolon. */
function escapeText(text: string): string {
  return text
    .replace(/\p{Cs}/gu, '\uFFFD')
    .replace(
      /[^\p{L}\p{N}\p{M} _.,()[\]/*+?=!→↻\uFFFD-]/gu,
      (character) => `#${character.codePointAt(0)};`,
    )
    .trim();
}
