/** Draws a chart as a picture that explains itself, for documents and for the inspector. */
import { type Chart, isInside } from './chart.ts';
import { type Box, type Layout, layOut, type Point, type Wire } from './layout.ts';
import { legendOf } from './legend.ts';
import { aboutOf, doingOf, padding, type } from './measure.ts';
import { arrowHead, roundedPath } from './path.ts';
import { pictureStyle } from './picture-style.ts';
import { escapeXml, round, textLine } from './xml.ts';

export interface SvgOptions {
  /** Paths of the states that the machine is in now, to be highlighted with the groups around them. */
  readonly active?: readonly string[];
}

const margin = 16;

/** Draws a chart as one SVG document without outside references. The same chart gives the same bytes. */
export async function toSvg(chart: Chart, { active = [] }: SvgOptions = {}): Promise<string> {
  const layout = await layOut(chart);
  const legend = legendOf(chart);
  const width = Math.ceil(Math.max(layout.width, legend.width) + 2 * margin);
  const height = Math.ceil(layout.height + legend.height + 2 * margin);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="statechart" role="img" aria-labelledby="statechart-title statechart-desc" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title id="statechart-title">${escapeXml(`State chart of ${chart.id}`)}</title>`,
    `<desc id="statechart-desc">${escapeXml(summaryOf(chart, layout))}</desc>`,
    `<style>${pictureStyle}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    `<g transform="translate(${margin} ${margin})">`,
    ...layout.boxes.map((box) => drawBox(box, isActive(box.state.path, active))),
    ...layout.wires.map(drawWire),
    ...layout.starts.map(drawStart),
    ...layout.wires.map((wire) => drawLabel(wire, layout)),
    `</g>`,
    `<g transform="translate(${margin} ${round(margin + layout.height)})">${legend.svg}</g>`,
    '</svg>',
    '',
  ]
    .filter((line, index, lines) => line !== '' || index === lines.length - 1)
    .join('\n');
}

function isActive(path: string, active: readonly string[]): boolean {
  return active.some((one) => one === path || (path !== '' && isInside(one, path)));
}

function summaryOf(chart: Chart, { boxes }: Layout): string {
  const names = boxes.slice(1).map(({ state }) => state.path);
  const about = chart.description === null ? '' : `${chart.description} `;
  return `${about}${names.length} states: ${names.join(', ')}.`;
}

function drawBox(box: Box, isOn: boolean): string {
  const { state } = box;
  const kind = state.path === '' ? 'machine' : state.states.length > 0 ? 'group' : state.type;
  const tags = state.tags.map((tag) => ` tag-${tag.replace(/[^A-Za-z0-9_-]/g, '_')}`).join('');
  return [
    `<g class="${kind}${tags}${isOn ? ' active' : ''}" data-path="${escapeXml(state.path)}">`,
    `<title>${escapeXml(tooltipOf(box))}</title>`,
    outline(box, 0, 'box'),
    ...(state.type === 'final' ? [outline(box, 3, 'inner')] : []),
    ...drawTexts(box),
    '</g>',
  ].join('');
}

function outline({ x, y, width, height, state }: Box, inset: number, name: string): string {
  const radius = (state.states.length > 0 ? 12 : 9) - inset;
  return `<rect class="${name}" x="${round(x + inset)}" y="${round(y + inset)}" width="${round(width - 2 * inset)}" height="${round(height - 2 * inset)}" rx="${radius}"/>`;
}

function tooltipOf({ state }: Box): string {
  const list = (name: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${name}: ${items.join(', ')}`];
  const about = state.description === null ? [] : [state.description];
  return [
    state.path === '' ? state.id : state.path,
    ...about,
    ...list('tags', state.tags),
    ...list('on entry', state.entry),
    ...list('on exit', state.exit),
  ].join('\n');
}

function drawTexts(box: Box): readonly string[] {
  const { state, x, width } = box;
  const isGroup = state.states.length > 0;
  const hasNotes = box.notes.length > 0;
  const isCentred = !isGroup && !hasNotes;
  const at = isCentred ? x + width / 2 : x + padding.x;
  const lines = [
    { name: 'name', text: state.key, step: type.name.line },
    ...doingOf(state).map((text) => ({ name: 'doing', text, step: type.doing.line })),
    ...aboutOf(state).map((text) => ({ name: 'about', text, step: type.about.line })),
    ...box.notes.map(({ text, isError }, index) => ({
      name: isError ? 'note error' : 'note',
      text,
      step: type.note.line + (index === 0 ? 8 : 0),
    })),
  ];
  let y = box.y + padding.y - 5;
  return lines.map(({ name, text, step }) => {
    y += step;
    return textLine(`${name}${isCentred ? ' centred' : ''}`, at, y, text);
  });
}

function drawWire({ points, source, target, isError }: Wire): string {
  const ends = `data-source="${escapeXml(source)}" data-target="${escapeXml(target)}"`;
  return `<g class="wire${isError ? ' error' : ''}" ${ends}>${drawArrow(points)}</g>`;
}

function drawStart({ x, y, width, points }: Layout['starts'][number]): string {
  const radius = round(width / 2);
  const dot = `<circle class="start" cx="${round(x + radius)}" cy="${round(y + radius)}" r="${radius}"/>`;
  return `<g class="wire">${drawArrow(points)}${dot}</g>`;
}

function drawArrow(points: readonly Point[]): string {
  return `<path class="line" d="${roundedPath(points)}"/><path class="head" d="${arrowHead(points)}"/>`;
}

function drawLabel({ label, labels, isError }: Wire, { boxes }: Layout): string {
  if (label === null) return '';
  const { x, y, width, height } = label;
  const lines = labels.map((text, index) =>
    textLine('centred', x + width / 2, y + 12 + index * type.label.line, text),
  );
  const centre = { x: x + width / 2, y: y + height / 2 };
  const isOnGroup = boxes.some((box) => box.state.path !== '' && hasPoint(box, centre));
  return `<g class="label${isOnGroup ? ' on-group' : ''}${isError ? ' error' : ''}"><rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="4"/>${lines.join('')}</g>`;
}

function hasPoint(box: Box, { x, y }: Point): boolean {
  return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
}
