import { describe, expect, it } from 'vitest';
import { agentLoop, modelCall, toolCall } from '../../machines/index.ts';
import { drawDiagram } from '../../src/cli/diagram-command.ts';
import { chartOf } from '../../src/diagrams/chart.ts';
import { toMermaid } from '../../src/diagrams/mermaid.ts';
import { toStatelyJson } from '../../src/diagrams/stately.ts';
import { toSvg } from '../../src/diagrams/svg.ts';

describe('a diagram', () => {
  it.each([
    ['agent-loop', agentLoop],
    ['tool-call', toolCall],
    ['model-call', modelCall],
  ] as const)('of %s is what the library draws', async (name, machine) => {
    expect(await drawDiagram(name, 'mermaid')).toBe(toMermaid(chartOf(machine)));
    expect(await drawDiagram(name, 'json')).toBe(toStatelyJson(machine));
  });

  it('is a picture, too', async () => {
    expect(await drawDiagram('model-call', 'svg')).toBe(await toSvg(chartOf(modelCall)));
  });
});
