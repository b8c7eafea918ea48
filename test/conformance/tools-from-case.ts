import { defineTool, type Permissions, type Rule, type Tool } from 'pawl';
import { behave, type Execution } from './behave.ts';
import type { CaseTool } from './load-case.ts';
import { effectOf } from './mapping.ts';
import type { Stage } from './stage.ts';

/** Starts a run by itself from within a tool, and resolves to its answer. */
export type RunChild = Execution['runChild'];

/** The tools of a case, which count their executions and tell when they start, act and return. */
export function toolOf(stage: Stage, tool: CaseTool, runChild: RunChild): Tool {
  const { name, description, inputSchema, behaviour } = tool;
  const timeoutMs = tool.timeoutMs ?? stage.config.limits?.toolTimeoutMs;
  return defineTool({
    name,
    description,
    input: inputSchema,
    effect: effectOf(tool),
    ...(timeoutMs !== undefined && { timeoutMs }),
    run: (input, context) => {
      const id = stage.ids.of(context.callId);
      countExecution(stage, id, input);
      const returned = (): void => stage.happenings.note(`tool_returned:${id}`);
      const note = stage.happenings.note;
      const countStep: Execution['countStep'] = (sequence) => {
        const step = stage.steps.get(sequence) ?? 0;
        stage.steps.set(sequence, step + 1);
        return step;
      };
      return tellEnd(
        () => behave(behaviour, { id, input, context, note, countStep, runChild }),
        returned,
      );
    },
  });
}

function countExecution({ executions, happenings }: Stage, id: string, input: unknown): void {
  executions.set(id, [...(executions.get(id) ?? []), structuredClone(input)]);
  happenings.note(`tool_started:${id}`);
}

/** Hands on exactly what `act` returns or throws, and calls `ended` once that is known. */
function tellEnd(act: () => unknown, ended: () => void): unknown {
  try {
    const output = act();
    if (output instanceof Promise) output.then(ended, ended);
    else ended();
    return output;
  } catch (error) {
    ended();
    throw error;
  }
}

/** Tools that need approval are asked for, all others are allowed. */
export const permissionsOf = (stage: Stage, tools: readonly CaseTool[]): Permissions => ({
  ask: tools.flatMap((tool) => askRule(stage, tool)),
  otherwise: 'allow',
});

function askRule(stage: Stage, { name, needsApproval }: CaseTool): readonly Rule[] {
  if (needsApproval === true) return [name];
  if (needsApproval !== 'predicate:firstCallOnly') return [];
  const when = (): boolean => {
    const calls = (stage.predicateCalls.get(name) ?? 0) + 1;
    stage.predicateCalls.set(name, calls);
    if (calls > 1) throw new Error(`The predicate of ${name} was asked ${calls} times.`);
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
