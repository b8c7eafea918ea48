/** A backtracking matcher that counts its steps, so that a regular expression is judged without a clock. */

export type Node =
  | { readonly kind: 'set'; readonly source: string }
  | { readonly kind: 'edge'; readonly source: string }
  | { readonly kind: 'back'; readonly group: number }
  | { readonly kind: 'list' | 'choice'; readonly nodes: readonly Node[] }
  | { readonly kind: 'group'; readonly group: number; readonly node: Node }
  | { readonly kind: 'look'; readonly opening: string; readonly node: Node }
  | { readonly kind: 'repeat'; readonly min: number; readonly max: number; readonly node: Node };

const setToken =
  /^(?:\[(?:\\.|[^\]\\])*\]|\\[pP]\{\w+\}|\\u\{\w+\}|\\u\w{4}|\\x\w{2}|\\[^1-9bB]|[^\\()[\]{}|^$*+?])/u;
const repeatToken = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})/;
const openings = ['(?<!', '(?<=', '(?!', '(?=', '(?:', '('];

/** @throws for syntax that it does not know. */
export function parseRegex(pattern: string): Node {
  let rest = pattern;
  let groups = 0;
  const take = (length: number): string => {
    const taken = rest.slice(0, length);
    rest = rest.slice(length);
    return taken;
  };
  const choice = (): Node => {
    const nodes = [list()];
    while (rest.startsWith('|')) {
      take(1);
      nodes.push(list());
    }
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'choice', nodes };
  };
  const list = (): Node => {
    const nodes: Node[] = [];
    while (rest !== '' && !rest.startsWith('|') && !rest.startsWith(')'))
      nodes.push(repeated(atom()));
    return { kind: 'list', nodes };
  };
  const repeated = (node: Node): Node => {
    const found = repeatToken.exec(rest);
    if (!found) return node;
    const [whole, least = '', comma, most = ''] = found;
    take(whole.length);
    if (rest.startsWith('?')) throw new Error('Lazy repeats are not known');
    if (whole === '?') return { kind: 'repeat', min: 0, max: 1, node };
    if (whole === '*' || whole === '+') {
      return { kind: 'repeat', min: whole === '+' ? 1 : 0, max: Number.POSITIVE_INFINITY, node };
    }
    const open = most === '' ? Number.POSITIVE_INFINITY : Number(most);
    return { kind: 'repeat', min: Number(least), max: comma ? open : Number(least), node };
  };
  const atom = (): Node => {
    const opening = openings.find((start) => rest.startsWith(start));
    if (opening) return bracket(opening);
    if (/^(?:[\^$]|\\[bB])/.test(rest))
      return { kind: 'edge', source: take(rest[0] === '\\' ? 2 : 1) };
    if (/^\\[1-9]/.test(rest)) return { kind: 'back', group: Number(take(2).slice(1)) };
    const [source] = setToken.exec(rest) ?? [];
    if (source === undefined) throw new Error(`Not known: ${rest}`);
    return { kind: 'set', source: take(source.length) };
  };
  const bracket = (opening: string): Node => {
    take(opening.length);
    if (opening === '(') groups += 1;
    const group = groups;
    const node = choice();
    if (take(1) !== ')') throw new Error('An open bracket');
    if (opening === '(') return { kind: 'group', group, node };
    return opening === '(?:' ? node : { kind: 'look', opening, node };
  };
  const root = choice();
  if (rest !== '') throw new Error(`Not known: ${rest}`);
  return root;
}

type Step =
  | { readonly do: 'read'; readonly accepts: (character: string) => boolean }
  | { readonly do: 'edge'; readonly source: string }
  | {
      readonly do: 'look';
      readonly opening: string;
      readonly accepts: (character: string) => boolean;
    }
  | { readonly do: 'back'; readonly group: number }
  | { readonly do: 'mark'; readonly slot: number }
  | { readonly do: 'fork'; readonly to: number }
  | { readonly do: 'jump'; readonly to: number };

export function accepter(source: string, flags: string): (character: string) => boolean {
  const known = new Map<string, boolean>();
  const regex = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ''));
  return (character) => {
    const answer = known.get(character) ?? regex.test(character);
    known.set(character, answer);
    return answer;
  };
}

function compile(root: Node, flags: string): readonly Step[] {
  const steps: Step[] = [];
  const emit = (node: Node): void => {
    switch (node.kind) {
      case 'set':
        steps.push({ do: 'read', accepts: accepter(node.source, flags) });
        return;
      case 'edge':
        steps.push({ do: 'edge', source: node.source });
        return;
      case 'back':
        steps.push({ do: 'back', group: node.group });
        return;
      case 'look':
        steps.push({
          do: 'look',
          opening: node.opening,
          accepts: accepter(soleSet(node.node), flags),
        });
        return;
      case 'list':
        node.nodes.forEach(emit);
        return;
      case 'choice':
        emitChoice(node.nodes);
        return;
      case 'group':
        steps.push({ do: 'mark', slot: node.group * 2 });
        emit(node.node);
        steps.push({ do: 'mark', slot: node.group * 2 + 1 });
        return;
      case 'repeat':
        emitRepeat(node);
    }
  };
  const emitChoice = ([first, ...others]: readonly Node[]): void => {
    if (!first) return;
    if (others.length === 0) {
      emit(first);
      return;
    }
    const fork = steps.push({ do: 'fork', to: 0 }) - 1;
    emit(first);
    const jump = steps.push({ do: 'jump', to: 0 }) - 1;
    steps[fork] = { do: 'fork', to: steps.length };
    emitChoice(others);
    steps[jump] = { do: 'jump', to: steps.length };
  };
  const emitRepeat = ({ min, max, node }: Extract<Node, { kind: 'repeat' }>): void => {
    for (let count = 0; count < min; count += 1) emit(node);
    if (max === Number.POSITIVE_INFINITY) {
      const fork = steps.push({ do: 'fork', to: 0 }) - 1;
      emit(node);
      steps.push({ do: 'jump', to: fork });
      steps[fork] = { do: 'fork', to: steps.length };
      return;
    }
    const forks: number[] = [];
    for (let count = min; count < max; count += 1) {
      forks.push(steps.push({ do: 'fork', to: 0 }) - 1);
      emit(node);
    }
    for (const fork of forks) steps[fork] = { do: 'fork', to: steps.length };
  };
  emit(root);
  return steps;
}

function soleSet(node: Node): string {
  const only = node.kind === 'list' && node.nodes.length === 1 ? node.nodes[0] : node;
  if (only?.kind === 'set') return only.source;
  throw new Error('Only single characters may be looked for');
}

/** Steps to find all matches in the text, from every start. Stops at `most`. */
export function countSteps(pattern: string, flags: string, text: string, most: number): number {
  const steps = compile(parseRegex(pattern), flags);
  const characters = flags.includes('u') ? [...text] : text.split('');
  let count = 0;
  let at = 0;
  while (at <= characters.length && count < most) {
    const { end, taken } = matchAt(steps, characters, at, most - count);
    count += taken;
    at = end === null || end === at ? at + 1 : end;
  }
  return count;
}

interface Thread {
  readonly step: number;
  readonly at: number;
  readonly marks: readonly number[];
}

function matchAt(steps: readonly Step[], text: readonly string[], start: number, most: number) {
  const threads: Thread[] = [{ step: 0, at: start, marks: [] }];
  let taken = 0;
  for (let thread = threads.pop(); thread && taken < most; thread = threads.pop()) {
    let { step, at, marks } = thread;
    for (;;) {
      taken += 1;
      const now = steps[step];
      if (!now) return { end: at, taken };
      if (taken >= most) break;
      if (now.do === 'jump') step = now.to;
      else if (now.do === 'fork') {
        threads.push({ step: now.to, at, marks });
        step += 1;
      } else if (now.do === 'mark') {
        marks = withMark(marks, now.slot, at);
        step += 1;
      } else {
        const next = advance(now, text, at, marks);
        if (next === null) break;
        at = next;
        step += 1;
      }
    }
  }
  return { end: null, taken };
}

function withMark(marks: readonly number[], slot: number, at: number): readonly number[] {
  const copy = [...marks];
  copy[slot] = at;
  return copy;
}

function advance(
  step: Exclude<Step, { do: 'jump' | 'fork' | 'mark' }>,
  text: readonly string[],
  at: number,
  marks: readonly number[],
): number | null {
  const accepts = (index: number): boolean => {
    const character = text[index];
    return character !== undefined && 'accepts' in step && step.accepts(character);
  };
  switch (step.do) {
    case 'read':
      return accepts(at) ? at + 1 : null;
    case 'edge':
      return (step.source === '^' ? at === 0 : at === text.length) ? at : null;
    case 'look':
      return accepts(step.opening.includes('<') ? at - 1 : at) === step.opening.endsWith('!')
        ? null
        : at;
    case 'back': {
      const from = marks[step.group * 2] ?? 0;
      const length = (marks[step.group * 2 + 1] ?? 0) - from;
      for (let index = 0; index < length; index += 1) {
        if (text[from + index] !== text[at + index]) return null;
      }
      return at + length;
    }
  }
}
