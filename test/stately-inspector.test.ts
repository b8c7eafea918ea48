import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  createWebSocketInspector,
  createWebSocketReceiver,
  type StatelyInspectionEvent,
} from '@statelyai/inspect';
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { z } from 'zod';

const publisher = createAgent({
  model: scriptedModel([
    { toolUses: [{ id: 'p', name: 'publish', input: { text: 'News' } }] },
    'Ok.',
  ]),
  tools: [
    defineTool({
      name: 'publish',
      description: 'Publishes a text.',
      input: z.object({ text: z.string() }),
      effect: 'once',
      run: ({ text }) => `Published: ${text}`,
    }),
  ],
});

describe("Stately's inspector", () => {
  it('gets the chart, the actors, the states and the events of a run', async () => {
    const relay = await startRelay();
    const frames: StatelyInspectionEvent[] = [];
    createWebSocketReceiver({ server: relay.url }).subscribe((frame) => void frames.push(frame));
    const inspector = createWebSocketInspector({ url: relay.url });
    await relay.hasBoth;

    const run = publisher.start('Go.', { inspect: inspector.inspect });
    await run.idle();
    await run.approve('p');
    await run.result;
    await vi.waitUntil(() => frames.some(isCompleted), { timeout: 10_000 });
    inspector.stop();
    await relay.close();

    const actors = framesOf(frames, '@xstate.actor');
    const [root, ...children] = actors;
    expect(JSON.parse(root?.definition ?? '')).toMatchObject({
      id: 'agent-loop',
      states: { active: { states: { callModel: {}, executeTools: {} } }, completed: {} },
    });
    expect(children.map(({ name }) => name)).toContain('tool.p');
    expect(children.every(({ rootId }) => rootId === root?.sessionId)).toBe(true);
    const states = framesOf(frames, '@xstate.snapshot')
      .filter(({ sessionId }) => sessionId === root?.sessionId)
      .map(({ snapshot }) => JSON.stringify('value' in snapshot ? snapshot.value : null));
    expect(states).toContain('{"active":"callModel"}');
    expect(states).toContain('{"active":{"executeTools":"waiting"}}');
    expect(states.at(-1)).toBe('"completed"');
    const events = framesOf(frames, '@xstate.event').map(({ event }) => event.type);
    expect(events).toEqual(
      expect.arrayContaining([
        'xstate.init',
        'call.waits',
        'approval.granted',
        'xstate.done.actor.tool.p',
      ]),
    );
  });
});

const framesOf = <Type extends StatelyInspectionEvent['type']>(
  frames: readonly StatelyInspectionEvent[],
  type: Type,
) =>
  frames.filter(
    (frame): frame is Extract<StatelyInspectionEvent, { type: Type }> => frame.type === type,
  );

const isCompleted = (frame: StatelyInspectionEvent): boolean =>
  frame.type === '@xstate.snapshot' &&
  'value' in frame.snapshot &&
  frame.snapshot.value === 'completed';

/** Passes on what one client sends to the others. The official relay listens on every interface; this one does not. */
async function startRelay() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  const hasBoth = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      if (server.clients.size === 2) resolve();
      socket.on('message', (data) => {
        for (const client of server.clients) if (client !== socket) client.send(String(data));
      });
    });
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const client of server.clients) client.terminate();
    server.close();
    await once(server, 'close');
  };
  return { url: `ws://127.0.0.1:${port}`, hasBoth, close };
}
