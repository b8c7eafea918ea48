import { agentLoop, modelCall, toolCall } from '../../machines/index.ts';
import { chartOf } from '../diagrams/chart.ts';
import { toMermaid } from '../diagrams/mermaid.ts';
import { toStatelyJson } from '../diagrams/stately.ts';
import { toSvg } from '../diagrams/svg.ts';
import type { DiagramFormat, MachineName } from './options.ts';

/** The picture of a machine as text, in one of three forms. */
export async function drawDiagram(name: MachineName, format: DiagramFormat): Promise<string> {
  const machine = machines[name];
  switch (format) {
    case 'mermaid':
      return toMermaid(chartOf(machine));
    case 'svg':
      return toSvg(chartOf(machine));
    case 'json':
      return toStatelyJson(machine);
  }
}

const machines = {
  'agent-loop': agentLoop,
  'tool-call': toolCall,
  'model-call': modelCall,
} as const;
