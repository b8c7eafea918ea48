import { type ToolContext, toolOutput } from 'pawl';
import type { Behaviour, CaseTool } from './load-case.ts';
import { specialValue } from './special-values.ts';

/** One execution of a tool, and what it may tell the play. */
export interface Execution {
  readonly id: string;
  readonly input: unknown;
  readonly context: ToolContext;
  readonly note: (happening: string) => void;
  /** How often this sequence was asked before; counts this time. */
  readonly countStep: (sequence: Behaviour) => number;
  readonly runChild: (
    prompt: string,
    tools: readonly (string | CaseTool)[],
    signal: AbortSignal,
  ) => Promise<string>;
}

/** Does what the case says the tool does. May throw before it returns, and may return what is no promise. */
export function behave(behaviour: Behaviour, execution: Execution): unknown {
  const { input, context } = execution;
  const { value, message = 'tool failed' } = behaviour;
  switch (behaviour.kind) {
    case 'syncReturn':
      return value;
    case 'syncThrow':
      throw new Error(message);
    case 'return':
      return later(() => value);
    case 'echo':
      return later(() => input);
    case 'special':
      return later(() => specialValue(behaviour));
    case 'returnBlocks':
      return later(() => blocksOf(behaviour));
    case 'probePrototype':
      return later(() => ({}) as { polluted?: unknown }).then((plain) => plain.polluted);
    case 'throw':
      return Promise.reject(new Error(message));
    case 'throwValue':
      return Promise.reject(value);
    case 'throwUndefined':
      return Promise.reject(undefined);
    case 'hang':
      return forever();
    case 'hangUntilAbort':
      return untilAbort(context.signal);
    case 'useSignal':
      context.signal.addEventListener('abort', () => {});
      return later(() => 'ok');
    case 'sideEffectThenHang':
      execution.note(`side_effect:${execution.id}`);
      return forever();
    default:
      return behaveInSteps(behaviour, execution);
  }
}

function behaveInSteps(behaviour: Behaviour, execution: Execution): unknown {
  switch (behaviour.kind) {
    case 'sleep':
      return sleep(behaviour.ms ?? 0).then(() => behave(required(behaviour.then), execution));
    case 'sequence': {
      const { steps = [] } = behaviour;
      const step = steps[execution.countStep(behaviour)] ?? steps.at(-1);
      return behave(required(step), execution);
    }
    case 'subagent': {
      const { prompt = '', tools = [] } = behaviour;
      return execution.runChild(prompt, tools, execution.context.signal);
    }
    default:
      throw new Error(`unknown behaviour ${JSON.stringify(behaviour.kind)}`);
  }
}

const forever = (): Promise<never> => new Promise(() => {});

const later = async <Value>(make: () => Value): Promise<Awaited<Value>> => await make();

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

const untilAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(new DOMException('The tool was aborted.', 'AbortError'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });

const blocksOf = ({ blocks = [], isError = false }: Behaviour): unknown =>
  toolOutput({ content: blocks, isError });

function required(behaviour: Behaviour | undefined): Behaviour {
  if (behaviour) return behaviour;
  throw new Error('the behaviour has no next step');
}
