/**
 * Why a run is where it is: the questions its machine asks, with the numbers they look at and their answers. Asked of the
 * machine's own guards, about the context as it was stored.
 */
import { agentLoop } from '../../machines/agent-loop.ts';
import { release } from '../core/ledger.ts';
import { type RunContext, startContext } from '../core/run-context.ts';
import { allStates, type ChartEdge, type ChartState, chartOf } from '../diagrams/chart.ts';
import type { SavedTurn } from '../stores/store.ts';
import { factsOf } from './why-facts.ts';

export interface Asked {
  readonly guard: string;
  readonly answer: boolean;
  /** What it looked at. */
  readonly facts: string;
}

/** The questions of one state, in order, up to the first yes. */
export interface Decision {
  readonly state: string;
  readonly description: string | null;
  readonly asked: readonly Asked[];
  /** Where that leads. Null: it stays where it is. */
  readonly target: string | null;
}

/** An event that the state reacts to, with the questions that are asked once it comes. */
export interface Awaited {
  readonly event: string;
  readonly branches: readonly { readonly guard: string | null; readonly target: string | null }[];
}

export interface Explanation {
  /** The decision that led to the state, where one can be named. */
  readonly before: Decision | null;
  /** What the state asks by itself. */
  readonly now: readonly Decision[];
  readonly awaited: readonly Awaited[];
}

const states: readonly ChartState[] = allStates(chartOf(agentLoop).root);

/** Names of states without the one that all but the last are in. */
export const shortName = (path: string): string => path.replace(/^active\./, '');

const stateNamed = (name: string): ChartState | undefined =>
  states.find(({ path }) => path === name) ?? states.find(({ path }) => path === `active.${name}`);

const alwaysOf = ({ edges }: ChartState): readonly ChartEdge[] =>
  edges.filter(({ kind }) => kind === 'always');

/** A state that is left at once, by the answers to its questions alone. */
const isDecision = (state: ChartState): boolean => alwaysOf(state).at(-1)?.guard === null;

/** The answer of the machine's guard. Those of events look at the event, the others don't. */
export function ask(
  guard: string,
  context: RunContext,
  event: { readonly type: string } = noEvent,
): boolean {
  const guards: Readonly<Record<string, unknown>> = agentLoop.implementations.guards;
  const answer = guards[guard];
  if (typeof answer !== 'function') throw new Error(`The machine has no guard "${guard}".`);
  return answer({ context, event }, undefined) === true;
}

const noEvent = { type: '' };

function decide(state: ChartState, context: RunContext): Decision {
  const asked: Asked[] = [];
  let target: string | null = null;
  for (const { guard, targets } of alwaysOf(state)) {
    const isTaken = guard === null || ask(guard, context);
    if (guard !== null) asked.push({ guard, answer: isTaken, facts: factsOf(guard, context) });
    if (!isTaken) continue;
    target = shortName(targets[0] ?? state.path);
    break;
  }
  return { state: shortName(state.path), description: state.description, asked, target };
}

/** What the budget check said when a turn began. */
export function explainTurn({ settings, messages, context }: SavedTurn): Decision {
  const carried = context as unknown as RunContext;
  const { limits } = carried.ledger;
  const checkBudget = stateNamed('checkBudget');
  if (!checkBudget) throw new Error('The machine has no state checkBudget.');
  return decide(checkBudget, startContext({ settings, limits, messages, carried }));
}

/** The state that the run is in now. `turn`: how its turn began, when that is kept. */
export function explain(name: string, context: RunContext, turn: SavedTurn | null): Explanation {
  const state = stateNamed(name);
  if (!state) return { before: null, now: [], awaited: [] };
  const line = lineOf(state);
  return {
    before: name === 'callModel' && turn ? explainTurn(turn) : decisionBefore(state, context),
    now: line.filter((each) => alwaysOf(each).length > 0).map((each) => decide(each, context)),
    awaited: state.type === 'final' ? [] : line.flatMap(awaitedIn),
  };
}

const lineOf = (state: ChartState): readonly ChartState[] => [state, ...ancestorsOf(state)];

/** The state of that name and all those around it, the innermost first. */
export function stateLine(name: string): readonly ChartState[] {
  const state = stateNamed(name);
  return [...(state ? lineOf(state) : []), ...states.filter(({ path }) => path === '')];
}

const ancestorsOf = ({ path }: ChartState): readonly ChartState[] =>
  states
    .filter((other) => other.path !== path && `${path}.`.startsWith(`${other.path}.`))
    .sort((a, b) => b.path.length - a.path.length);

/** The one whose answers, asked again, lead to where the run is. What its model call holds back was not set aside then. */
function decisionBefore(state: ChartState, context: RunContext): Decision | null {
  const then = { ...context, ledger: release(context.ledger, 'model') };
  const path = shortName(state.path);
  const decisions = states.filter(isDecision).map((each) => decide(each, then));
  return decisions.find(({ target }) => target !== null && isAt(path, target)) ?? null;
}

const isAt = (path: string, target: string): boolean => `${path}.`.startsWith(`${target}.`);

function awaitedIn({ edges }: ChartState): readonly Awaited[] {
  const events = new Map<string, ChartEdge[]>();
  for (const edge of edges) {
    if (edge.kind === 'always') continue;
    events.set(edge.event, [...(events.get(edge.event) ?? []), edge]);
  }
  return [...events].map(([event, branches]) => ({
    event,
    branches: branches.map(({ guard, targets: [target] }) => ({
      guard,
      target: target === undefined ? null : shortName(target),
    })),
  }));
}
