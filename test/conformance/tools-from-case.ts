import { defineTool, type Permissions, type Rule, type Tool } from 'pawl';
import { behave, type Execution } from './behave.ts';
import type { Engine } from './engine.ts';
import type { CaseTool } from './load-case.ts';
import { effectOf } from './mapping.ts';

/** Starts a run by itself from within a tool, and resolves to its answer. */
export type RunChild = Execution['runChild'];

/** The tools of a case, which count their executions and tell when they start, act and return. */
export function toolOf(engine: Engine, tool: CaseTool, runChild: RunChild): Tool {
  const { name, description, inputSchema, behaviour } = tool;
  const { tell, counters, ids } = engine;
  const timeoutMs = tool.timeoutMs ?? engine.config.limits?.toolTimeoutMs;
  return defineTool({
    name,
    description,
    input: inputSchema,
    effect: effectOf(tool),
    ...(timeoutMs !== undefined && { timeoutMs }),
    run: (input, context) => {
      const id = ids.of(context.callId);
      const note = (happened: string): void => tell({ told: 'happened', name: happened });
      tell({ told: 'executed', id, input: structuredClone(input) });
      const began = (): void => note(`tool_started:${id}`);
      const ended = (): void => note(`tool_returned:${id}`);
      const countStep: Execution['countStep'] = (sequence) =>
        counters.next(`${name}: ${JSON.stringify(sequence)}`);
      return watched(() => behave(behaviour, { id, input, context, note, countStep, runChild }), {
        began,
        ended,
      });
    },
  });
}

interface Watch {
  readonly began: () => void;
  readonly ended: () => void;
}

/**
 * Hands on exactly what `act` returns or throws. It began only when it has come as far as it gets by itself: it may be
 * killed the moment that anybody hears of it, and counts then.
 */
function watched(act: () => unknown, { began, ended }: Watch): unknown {
  try {
    const output = act();
    began();
    if (output instanceof Promise) output.then(ended, ended);
    else ended();
    return output;
  } catch (error) {
    began();
    ended();
    throw error;
  }
}

/** Tools that need approval are asked for, all others are allowed. */
export const permissionsOf = (engine: Engine, tools: readonly CaseTool[]): Permissions => ({
  ask: tools.flatMap((tool) => askRule(engine, tool)),
  otherwise: 'allow',
});

function askRule({ tell, counters }: Engine, { name, needsApproval }: CaseTool): readonly Rule[] {
  if (needsApproval === true) return [name];
  if (needsApproval !== 'predicate:firstCallOnly') return [];
  const when = (): boolean => {
    tell({ told: 'asked' });
    const before = counters.next(`predicate of ${name}`);
    if (before > 0) throw new Error(`The predicate of ${name} was asked again.`);
    return true;
  };
  return [{ tool: name, when }];
}

/** A list of names of tools, or of whole tools, as tools. */
export const pickTools = (
  known: readonly CaseTool[],
  wanted: readonly (string | CaseTool)[],
): readonly CaseTool[] =>
  wanted.flatMap((tool) =>
    typeof tool === 'string' ? known.filter(({ name }) => name === tool) : [tool],
  );

/** `overrides`: parts of tools, by name or as a list with names. */
export function overrideTools(tools: readonly CaseTool[], overrides: unknown): readonly CaseTool[] {
  const parts = Array.isArray(overrides)
    ? (overrides as readonly Partial<CaseTool>[])
    : Object.entries((overrides ?? {}) as Record<string, Partial<CaseTool>>).map(
        ([name, part]) => ({ name, ...part }),
      );
  return tools.map((tool) => ({ ...tool, ...parts.find(({ name }) => name === tool.name) }));
}
