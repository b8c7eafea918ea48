/** Could a run go on with today's code and tools? Looked at, not tried. */
import type { RunContext } from '../core/run-context.ts';
import type { SavedRun } from '../stores/store.ts';
import type { Tool } from '../tools/tool.ts';
import { contextOf } from './known-run.ts';
import { waitsLine } from './runs-command.ts';
import { showLine, showProse } from './show-text.ts';

export interface Rehearsal {
  readonly runId: string;
  /** `resumes`: as it is. `waits`: once a person has said something. `needs`: not before something is put right. */
  readonly verdict: 'resumes' | 'waits' | 'needs';
  /** One line each, foreign text made visible. */
  readonly notes: readonly string[];
}

type ToolFacts = Pick<Tool, 'name' | 'effect'>;

/** What becomes of a run that is resumed with these tools. */
export function rehearse(saved: SavedRun, tools: readonly ToolFacts[]): Rehearsal {
  const { runId, head } = saved;
  const { context, problem } = contextOf(saved);
  if (context === null) return { runId, verdict: 'needs', notes: [showProse(problem ?? '')] };
  const changes = changesOf(context, tools);
  const where = `${showLine(head.state)}, turn ${head.turn}`;
  if (changes.some(({ isNeeded }) => isNeeded)) {
    return { runId, verdict: 'needs', notes: changes.map(({ note }) => note) };
  }
  const notes = changes.map(({ note }) => note);
  if (head.waits.length === 0) return { runId, verdict: 'resumes', notes: [where, ...notes] };
  return { runId, verdict: 'waits', notes: [`${where}, for ${waitsLine(head)}`, ...notes] };
}

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
