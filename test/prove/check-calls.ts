/** Tool uses: each answered once, none run twice, none run without its permission or with other arguments. */
import type { ContentBlock, Message } from 'pawl';
import { groupBy, isResumed, see, type World } from './world.ts';

type Use = Extract<ContentBlock, { type: 'tool_use' }>;

const usesIn = ({ role, content }: Message): readonly Use[] =>
  role === 'assistant' ? content.filter((block) => block.type === 'tool_use') : [];

export function callProblems(world: World): readonly string[] {
  return [
    ...answerProblems(world.finalMessages),
    ...bodyProblems(world),
    ...world.scenario.tools.flatMap((_, index) => permissionProblems(world, index)),
    ...argumentProblems(world),
    ...repeatProblems(world),
    ...strayProblems(world),
  ];
}

/** Every use is answered exactly once, in the next message. */
function answerProblems(messages: readonly Message[]): readonly string[] {
  const known = new Set<string>();
  return messages.flatMap((message, index) => {
    const next = messages[index + 1];
    const answers = (next?.content ?? []).flatMap((block) =>
      block.type === 'tool_result' ? [block.tool_use_id] : [],
    );
    const ids = usesIn(message).map(({ id }) => id);
    const again = ids.filter((id) => known.has(id));
    for (const id of ids) known.add(id);
    return [
      ...ids
        .filter((id) => answers.filter((answer) => answer === id).length !== 1)
        .map((id) => `history: ${id} is not answered exactly once`),
      ...again.map((id) => `history: the id ${id} is used twice`),
      ...(message.role === 'assistant' && answers.length !== ids.length
        ? [`history: ${answers.length} results answer ${ids.length} uses`]
        : []),
    ];
  });
}

/** A body begins once for a call, and again only as its tool allows. */
function bodyProblems(world: World): readonly string[] {
  const calls = groupBy(world.bodies, ({ callId }) => callId);
  const keys = new Map<string, string>();
  return [...calls].flatMap(([callId, bodies]) => {
    const [first] = bodies;
    const plan = world.scenario.tools[first?.tool ?? 0];
    const resumes = isResumed(world) ? world.events.length - 1 : 0;
    const allowed =
      1 +
      (world.personRetries.get(callId) ?? 0) +
      (plan?.effect === 'once' ? 0 : (plan?.maxRetries ?? 0) + resumes);
    if (bodies.length > 1) see(world, 'body began again');
    const isKeyKept = bodies.every(({ key }) => key === first?.key);
    const owner = keys.get(first?.key ?? '');
    keys.set(first?.key ?? '', callId);
    return [
      ...(bodies.length > allowed
        ? [`calls: the body of ${callId} (${plan?.effect}) began ${bodies.length} times`]
        : []),
      ...(isKeyKept ? [] : [`calls: ${callId} has two idempotency keys`]),
      ...(owner === undefined ? [] : [`calls: ${owner} and ${callId} share a key`]),
    ];
  });
}

function permissionProblems(world: World, index: number): readonly string[] {
  const { permissions } = world.scenario;
  const effect = world.scenario.tools[index]?.effect;
  const bodies = world.bodies.filter(({ tool }) => tool === index);
  const isDenied = permissions === 'throwing' || (permissions === 'denyFirst' && index === 0);
  if (isDenied) return bodies.map(({ callId }) => `permission: ${callId} ran, and was denied`);
  if (new Set(world.grants.map(({ description }) => description)).size > 1) {
    see(world, 'approvals of two descriptions');
  }
  const isAsked = permissions === 'ask' || (permissions === 'byEffect' && effect !== 'read');
  if (!isAsked) return [];
  return bodies
    .filter((body) => {
      const shown = world.scenario.changesTools && body.life > 0 ? 2 : 1;
      return !world.grants.some(
        ({ callId, at, isRefused, description }) =>
          callId === body.callId && at < body.at && !isRefused && description === shown,
      );
    })
    .map(({ callId }) => `permission: ${callId} ran without an approval of what it is`);
}

/** What runs is what the model asked for, or what a person put in its place. */
function argumentProblems(world: World): readonly string[] {
  const uses = new Map(world.finalMessages.flatMap(usesIn).map((use) => [use.id, use]));
  return world.bodies.flatMap(({ callId, input, at }) => {
    const use = uses.get(callId);
    if (!use) return [];
    const grants = world.grants.filter((grant) => grant.callId === callId && grant.at < at);
    const edits = grants.flatMap((grant) => (grant.input === null ? [] : [grant.input]));
    const isAsked = input === JSON.stringify(use.input) && grants.at(-1)?.input == null;
    return isAsked || edits.includes(input) ? [] : [`arguments: ${callId} ran with ${input}`];
  });
}

/** The n-th identical call in a row does not run. */
function repeatProblems(world: World): readonly string[] {
  const { maxRepeats = 3 } = world.limits;
  if (world.scenario.compaction !== 'never') return [];
  // Whoever is asked for a last answer may still ask for tools, and gets none.
  const lastWords = world.attempts.some(({ isWrapUp }) => isWrapUp) ? 1 : 0;
  const ran = new Set(world.bodies.map(({ callId }) => callId));
  const isCounted = ({ name }: Use) =>
    world.scenario.tools[Number(name.slice('tool_'.length))]?.isRepeatable !== true;
  let [last, times] = ['', 0];
  return world.finalMessages.flatMap((message) => {
    if (message.role !== 'assistant') {
      // Between them was a reply that was cut, of which repair has left nothing.
      if (JSON.stringify(message).includes('Please continue')) times = 0;
      return [];
    }
    const counted = usesIn(message).filter(isCounted);
    const signature = JSON.stringify(counted.map(({ name, input }) => [name, input]).sort());
    times = counted.length === 0 ? 0 : signature === last ? times + 1 : 1;
    last = signature;
    if (times < maxRepeats) return [];
    see(world, 'loop stopped');
    if (times > maxRepeats + lastWords)
      return [`ceiling: ${times} calls of a kind in a row of ${maxRepeats}`];
    return counted
      .filter(({ id }) => ran.has(id))
      .map(({ id }) => `ceiling: ${id} ran as call ${times} of its kind in a row`);
  });
}

/** Nothing goes on after the end. */
function strayProblems(world: World): readonly string[] {
  const open = world.attempts.filter(({ outcome }) => outcome === 'open').length;
  const bodies = world.bodies.filter(({ state, signal }) => state === 'running' && !signal.aborted);
  return [
    ...(open > 0 ? [`stray: ${open} model calls are still open`] : []),
    ...bodies.map(({ callId }) => `stray: ${callId} still runs, and was not told to stop`),
  ];
}
