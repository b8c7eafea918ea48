/** Could a run go on with today's code and tools? Looked at, not tried. */
import { openCalls } from '../core/call-steps.ts';
import { type RunContext, toolNamed } from '../core/run-context.ts';
import { versionOf } from '../core/upgrade.ts';
import { type Upgrades, upgrades } from '../core/upgrades.ts';
import type { SavedRun, WaitingFor } from '../stores/store.ts';
import type { Tool } from '../tools/tool.ts';
import { contextOf, type Told } from './known-run.ts';
import { waitsLine } from './runs-command.ts';
import { showLine, showProse } from './show-text.ts';

/**
 * What a run can't go on without: a person's word, a raised limit, a tool as it was, another version of Pawl, or a copy
 * of the file from before it was damaged.
 */
export type Need = 'person' | 'budget' | 'tool' | 'version' | 'copy';

export interface Rehearsal {
  readonly runId: string;
  /** `resumes`: as it is. `waits`: once a person has said something. `needs`: not before something is put right. */
  readonly verdict: 'resumes' | 'waits' | 'needs';
  readonly needs: readonly Need[];
  /** One line each, foreign text made visible. */
  readonly notes: readonly string[];
}

type ToolFacts = Pick<Tool, 'name' | 'effect'> & Partial<Pick<Tool, 'probe'>>;

interface Circumstances {
  /** What was told to the run and waits to be heard, by call. */
  readonly told?: ReadonlyMap<string, Told>;
  readonly chain?: Upgrades;
}

/** What becomes of a run that is resumed with these tools. */
export function rehearse(
  saved: SavedRun,
  tools: readonly ToolFacts[],
  { told = new Map(), chain = upgrades }: Circumstances = {},
): Rehearsal {
  const { runId, head } = saved;
  const { context, problem } = contextOf(saved, chain);
  if (context === null) {
    return { runId, verdict: 'needs', needs: ['version'], notes: [showProse(problem ?? '')] };
  }
  const changes = changesOf(context, tools);
  const notes = [
    ...changes.map(({ note }) => note),
    ...toldNotes(head.waits, told),
    ...interruptionNotes(context, tools),
    ...upgradeNotes(saved, chain),
  ];
  if (changes.some(({ isNeeded }) => isNeeded)) {
    return { runId, verdict: 'needs', needs: ['tool'], notes };
  }
  const where = `${showLine(head.state)}, turn ${head.turn}`;
  const waits = head.waits.filter(({ callId }) => callId === null || !told.has(callId));
  if (waits.length === 0) {
    return { runId, verdict: 'resumes', needs: [], notes: [where, ...notes] };
  }
  const first = `${where}, for ${waitsLine({ waits })}`;
  return { runId, verdict: 'waits', needs: needsOf(waits), notes: [first, ...notes] };
}

const needsOf = (waits: readonly WaitingFor[]): readonly Need[] => [
  ...new Set(waits.map((wait): Need => (wait.for === 'budget' ? 'budget' : 'person'))),
];

interface Change {
  readonly note: string;
  /** An open call wants the tool as it was. */
  readonly isNeeded: boolean;
}

function changesOf(context: RunContext, tools: readonly ToolFacts[]): readonly Change[] {
  const today = new Map(tools.map((tool) => [tool.name, tool]));
  const { settings, calls } = context;
  const isOpen = (tool: string): boolean =>
    calls.some(({ name, result }) => name === tool && result === null);
  return settings.tools.flatMap(({ name, effect }): readonly Change[] => {
    const tool = today.get(name);
    const isNeeded = isOpen(name);
    const call = isNeeded ? ', and an open call wants it' : '';
    if (!tool) return [{ note: `the tool ${showLine(name)} is gone${call}`, isNeeded }];
    if (tool.effect === effect) return [];
    const note = `the tool ${showLine(name)} was ${effect} and is ${tool.effect} now${call}`;
    return [{ note, isNeeded }];
  });
}

const toldNotes = (
  waits: readonly WaitingFor[],
  told: ReadonlyMap<string, Told>,
): readonly string[] =>
  waits.flatMap(({ callId, tool }) => {
    const word = callId === null ? undefined : told.get(callId);
    return word ? [`${showLine(tool ?? '')} was ${word}, which it hears then`] : [];
  });

/** A call that was under way when its process died, and that must not run twice. */
const interruptionNotes = (context: RunContext, tools: readonly ToolFacts[]): readonly string[] =>
  openCalls(context)
    .filter(({ effect, isRunning, waits }) => effect === 'once' && isRunning && waits === null)
    .map(({ name }) => `${showLine(name)} was under way: ${whatFollows(context, name, tools)}`);

function whatFollows(context: RunContext, name: string, tools: readonly ToolFacts[]): string {
  const probe = tools.find((tool) => tool.name === name)?.probe ?? null;
  const isReported = toolNamed(context, name)?.onInterrupted === 'report';
  const otherwise = isReported
    ? 'the model is told that nobody knows whether it acted'
    : 'a person is asked whether it acted';
  return probe === null
    ? otherwise
    : `its probe is asked whether it acted, and if that is not known, ${otherwise}`;
}

function upgradeNotes({ checkpoint }: SavedRun, { to }: Upgrades): readonly string[] {
  const version = versionOf(checkpoint);
  if (version === to) return [];
  return [`it is of schema version ${version}, and is read as ${to}`];
}
