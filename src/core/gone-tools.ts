/** An API wants tools defined once a transcript has tool uses. An agent without tools defines those that are gone. */
import { type Message, toolUsesIn } from './message.ts';
import { legalName } from './tool-use-ids.ts';
import { utf8Length } from './utf8.ts';

interface GoneTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, never>>;
  };
}

/** What an API adds to a request with tools by itself, at most: instructions of its own. */
const toolFrameTokens = 700;

/** A definition for each tool that the transcript names, in the order of the names. */
export const goneTools = (messages: readonly Message[]): readonly GoneTool[] =>
  [...new Set(messages.flatMap(toolUsesIn).map(({ name }) => legalName(name)))]
    .toSorted()
    .map((name) => ({
      name,
      description: 'This tool is gone. Do not call it: nothing would run.',
      inputSchema: { type: 'object', properties: {} },
    }));

/** Most tokens that these definitions can become. */
export function goneToolTokens(messages: readonly Message[]): number {
  const tools = goneTools(messages);
  return tools.length > 0 ? toolFrameTokens + utf8Length(JSON.stringify(tools)) : 0;
}
