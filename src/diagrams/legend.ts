/** The line under a picture that explains its signs. */
import { allStates, type Chart } from './chart.ts';
import { colouredTags, type Size, textWidth, type } from './measure.ts';
import { round, textLine } from './xml.ts';

export interface Legend extends Size {
  readonly svg: string;
}

interface Entry {
  readonly sign: string;
  readonly signWidth: number;
  readonly text: string;
}

/** Explains the signs that the chart uses, and no others. */
export function legendOf(chart: Chart): Legend {
  const entries = entriesOf(chart);
  let x = 0;
  const parts = entries.map(({ sign, signWidth, text }) => {
    const part = `<g transform="translate(${round(x)} 0)">${sign}${textLine('doing', signWidth + 7, 26, text)}</g>`;
    x += signWidth + 7 + textWidth(text, type.doing) + 22;
    return part;
  });
  return { svg: `<g class="legend">${parts.join('')}</g>`, width: x, height: 36 };
}

function entriesOf(chart: Chart): readonly Entry[] {
  const states = allStates(chart.root);
  const tags = [...new Set(states.flatMap((state) => state.tags))];
  const shown = tags.filter((tag) => colouredTags.has(tag));
  const edges = states.flatMap((state) => state.edges);
  const has = (condition: boolean, entry: Entry) => (condition ? [entry] : []);
  return [
    { sign: '<circle class="start" cx="5" cy="22" r="5"/>', signWidth: 10, text: 'starts here' },
    ...has(
      states.some((state) => state.type === 'final'),
      {
        sign: `<g class="final">${swatch}<rect class="inner" x="2.5" y="17.5" width="17" height="9" rx="2"/></g>`,
        signWidth: 22,
        text: 'ends here',
      },
    ),
    ...shown.map((tag) => ({
      sign: `<g class="tag-${tag}">${swatch}</g>`,
      signWidth: 22,
      text: tag,
    })),
    ...has(
      edges.some(({ guard }) => guard !== null),
      word('[guard]', 'only if'),
    ),
    ...has(
      edges.some(({ branches }) => branches > 1),
      word('1. 2. else', 'tried in this order'),
    ),
    ...has(
      edges.some(({ isInternal }) => isInternal),
      word('event / action', 'stays here'),
    ),
  ];
}

const swatch = '<rect class="box" x="0" y="15" width="22" height="14" rx="4"/>';

function word(sign: string, text: string): Entry {
  return {
    sign: textLine('note', 0, 26, sign),
    signWidth: textWidth(sign, type.note),
    text,
  };
}
