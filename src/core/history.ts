/**
 * Makes any transcript a valid request, and says what is wrong with one that is not.
 *
 * Repair is deterministic, idempotent and reads no clock: the same transcript gives the same bytes, so the prompt cache
 * holds. Rules: the Messages API, "every tool_use is answered in the very next message, results first".
 */
import { gathered } from './growing.ts';
import {
  type ContentBlock,
  errorResult,
  isBlank,
  type Message,
  type ToolResult,
  text,
  toolUsesIn,
} from './message.ts';
import {
  isServerCall,
  isServerResult,
  unpairedServerBlocks,
  withPairedServerCalls,
} from './server-calls.ts';
import { thinkingFor } from './thinking.ts';
import { isLegalId, isLegalName, withUniqueIds } from './tool-use-ids.ts';
import { wellFormedJson } from './well-formed-json.ts';

/** What a tool use without a result is answered with. */
const unanswered = 'Not executed: the run stopped before this call was answered.';
/** What an error without a text is sent as. */
const unexplained = 'The call failed.';

/**
 * A valid history: neighbours of one role merged, results first, each tool use under an id of its own and answered
 * exactly once, no blank text, no unsigned thinking, no lone surrogate, no block that its role may not send, no
 * server-side call that was left open.
 */
export const repairHistory = (messages: readonly Message[]): readonly Message[] =>
  repair(messages, mergeNeighbours);

/** The repaired messages as they go to this model: without the thinking of others, a paused turn as it was paused. */
export const requestHistory = (messages: readonly Message[], model: string): readonly Message[] =>
  repair(thinkingFor(model, messages), mergeBeforeEnd);

type Merge = (messages: readonly Message[]) => readonly Message[];

function repair(messages: readonly Message[], merge: Merge): readonly Message[] {
  if (isSendable(messages)) return messages;
  const cleaned = messages.map(clean).filter(({ content }) => content.length > 0);
  const answered = merge(answerAll(withUniqueIds(merge(cleaned))));
  return merge(withPairedServerCalls(answered));
}

/** Nothing in it needs repair, so the repaired history would be the same. Asked before each request of a run. */
const isSendable = (messages: readonly Message[]): boolean => {
  const { isWhole, open } = orderOf(messages);
  return isWhole && open.length === 0;
};

interface Order {
  /** So far nothing needs repair. */
  isWhole: boolean;
  readonly taken: Set<string>;
  /** Ids of tool uses that the next message has to answer. */
  open: readonly string[];
  role: Message['role'] | null;
}

const orderOf = gathered<Order>(
  () => ({ isWhole: true, taken: new Set(), open: [], role: null }),
  (order, message) => {
    if (!order.isWhole) return;
    const { isWhole, uses, answers } = factsOf(message);
    const { taken, open, role } = order;
    const isNext = message.role !== role && answers.length === open.length;
    order.isWhole = isWhole && isNext && answers.every((id, at) => id === open[at]);
    for (const id of uses) {
      if (taken.has(id)) order.isWhole = false;
      taken.add(id);
    }
    order.role = message.role;
    order.open = uses;
  },
);

interface MessageFacts {
  /** By itself it is as a repair would leave it. */
  readonly isWhole: boolean;
  /** Ids of its tool uses, and of the tool uses that it answers. */
  readonly uses: readonly string[];
  readonly answers: readonly string[];
}

function factsOf(message: Message): MessageFacts {
  const { role, content } = message;
  const uses = toolUsesIn(message);
  const answers = content.flatMap((block) =>
    block.type === 'tool_result' ? [block.tool_use_id] : [],
  );
  const isWhole =
    content.length > 0 &&
    wellFormedJson(content) === content &&
    content.every(canBeSentBy(role)) &&
    content.every(isSendableResult) &&
    content.slice(0, answers.length).every(({ type }) => type === 'tool_result') &&
    !content.some(isOfServer) &&
    uses.every(({ id, name }) => isLegalId(id) && isLegalName(name));
  return { isWhole, uses: uses.map(({ id }) => id), answers };
}

const clean = ({ role, content }: Message): Message => ({
  role,
  content: wellFormedJson(content).filter(canBeSentBy(role)),
});

const canBeSentBy =
  (role: Message['role']) =>
  (block: ContentBlock): boolean =>
    hasSubstance(block) && (role === 'user' ? !isOfAssistant(block) : block.type !== 'tool_result');

function hasSubstance(block: ContentBlock): boolean {
  if (block.type === 'text') return !isBlank(block.text);
  return block.type !== 'thinking' || block.signature !== '';
}

const typesOfAssistant: ReadonlySet<string> = new Set([
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  'thinking',
  'redacted_thinking',
]);

const isOfServer = (block: ContentBlock): boolean => isServerCall(block) || isServerResult(block);

const isOfAssistant = (block: ContentBlock): boolean =>
  typesOfAssistant.has(block.type) || isServerResult(block);

export function mergeNeighbours(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === message.role) {
      merged[merged.length - 1] = joined(last, message);
    } else merged.push(message);
  }
  return merged;
}

/**
 * An API takes a paused turn up again when the last message is the one that it paused. After several pauses in a row
 * the model's messages at the end therefore stay apart.
 */
function mergeBeforeEnd(messages: readonly Message[]): readonly Message[] {
  const end = messages.findLastIndex(({ role }) => role === 'user') + 1;
  const paused = messages.slice(end);
  if (paused.some((message) => toolUsesIn(message).length > 0)) return mergeNeighbours(messages);
  return [...mergeNeighbours(messages.slice(0, end)), ...paused];
}

const joined = ({ role, content }: Message, next: Message): Message => ({
  role,
  content: [...content, ...next.content],
});

/** Puts all results of an assistant message at the head of the next user message, adding what is missing. */
function answerAll(messages: readonly Message[]): readonly Message[] {
  const answered: Message[] = [];
  messages.forEach((message, index) => {
    const uses = toolUsesIn(messages[index - 1]);
    if (message.role === 'user') {
      const content = withResults(message, uses);
      if (content.length > 0) answered.push({ role: 'user', content });
      return;
    }
    answered.push(message);
    if (index === messages.length - 1) answered.push(...answersTo(toolUsesIn(message)));
  });
  return answered;
}

const answersTo = (uses: ReturnType<typeof toolUsesIn>): readonly Message[] =>
  uses.length === 0
    ? []
    : [{ role: 'user', content: uses.map(({ id }) => errorResult(id, unanswered)) }];

function withResults(
  { content }: Message,
  uses: ReturnType<typeof toolUsesIn>,
): readonly ContentBlock[] {
  const results = new Map<string, ToolResult>();
  for (const block of content) {
    if (block.type === 'tool_result' && !results.has(block.tool_use_id)) {
      results.set(block.tool_use_id, block);
    }
  }
  const heads = uses.map(({ id }) => sendable(results.get(id) ?? errorResult(id, unanswered)));
  const rest = content.filter(({ type }) => type !== 'tool_result');
  return [...heads.map(({ result }) => result), ...heads.flatMap(({ lifted }) => lifted), ...rest];
}

const mediaTypes: ReadonlySet<string> = new Set(['image', 'document', 'search_result']);

const mayBeInResult = (block: ContentBlock): boolean =>
  hasSubstance(block) && (mediaTypes.has(block.type) || otherTypesInResult.has(block.type));

const otherTypesInResult: ReadonlySet<string> = new Set(['text', 'tool_reference']);

/** An error result may hold nothing but text, and some: pictures follow after all results. */
function sendable(result: ToolResult): {
  readonly result: ToolResult;
  readonly lifted: readonly ContentBlock[];
} {
  if (!result.is_error) return { result: withSendableContent(result), lifted: [] };
  if (typeof result.content === 'string') {
    return {
      result: isBlank(result.content) ? { ...result, content: unexplained } : result,
      lifted: [],
    };
  }
  const texts = result.content.filter((block) => block.type === 'text' && !isBlank(block.text));
  const lifted = result.content.filter(({ type }) => mediaTypes.has(type));
  return {
    result: { ...result, content: texts.length > 0 ? texts : [text(unexplained)] },
    lifted,
  };
}

const withSendableContent = (result: ToolResult): ToolResult =>
  typeof result.content === 'string'
    ? result
    : { ...result, content: result.content.filter(mayBeInResult) };

/** One thing that an API would refuse, and where. */
export interface HistoryProblem {
  readonly path: string;
  readonly problem: string;
}

/** What a request with these messages would be refused for. Empty when it is valid. */
export function historyProblems(messages: readonly Message[]): readonly HistoryProblem[] {
  const problems: HistoryProblem[] = [];
  const report = (index: number, problem: string) =>
    problems.push({ path: `messages[${index}]`, problem });
  if (messages[0]?.role === 'assistant') report(0, 'the first message is not from the user');
  const unpaired = unpairedServerBlocks(messages);
  const known = new Set<string>();
  messages.forEach((message, index) => {
    for (const problem of problemsAt(messages, message, index)) report(index, problem);
    if (message.content.some((_, at) => unpaired.has(`${index}.${at}`))) {
      report(index, 'a server-side call and its result are not in one turn');
    }
    for (const { id, name } of toolUsesIn(message)) {
      if (!isLegalName(name)) report(index, `the tool name "${name}" is not legal`);
      if (known.has(id)) report(index, `the id "${id}" names two tool uses`);
      if (!isLegalId(id)) report(index, `the id "${id}" is not legal`);
      known.add(id);
    }
  });
  return problems;
}

function problemsAt(
  messages: readonly Message[],
  message: Message,
  index: number,
): readonly string[] {
  const before = messages[index - 1];
  return [
    ...(message.content.length === 0 ? ['it has no content'] : []),
    ...(before?.role === message.role
      ? [`it follows another message of role ${message.role}`]
      : []),
    ...(message.content.every(hasSubstance) ? [] : ['it holds a blank text or unsigned thinking']),
    ...(message.content.every(canBeSentBy(message.role))
      ? []
      : [`it holds a block that role ${message.role} may not send`]),
    ...(wellFormedJson(message.content) === message.content
      ? []
      : ['a text of it has a lone surrogate']),
    ...(message.content.every(isSendableResult) ? [] : ['a result holds what no result may hold']),
    ...pairingProblems(toolUsesIn(before), message),
    ...(index === messages.length - 1
      ? toolUsesIn(message).map(({ id }) => `tool use "${id}" is not answered`)
      : []),
  ];
}

function isSendableResult(block: ContentBlock): boolean {
  if (block.type !== 'tool_result') return true;
  if (typeof block.content === 'string') return !block.is_error || !isBlank(block.content);
  if (!block.content.every(mayBeInResult)) return false;
  const isText = block.content.length > 0 && block.content.every(({ type }) => type === 'text');
  return !block.is_error || isText;
}

function pairingProblems(
  uses: ReturnType<typeof toolUsesIn>,
  { role, content }: Message,
): readonly string[] {
  if (role !== 'user') return [];
  const results = content.filter((block) => block.type === 'tool_result');
  const answers = results.map((block) => block.tool_use_id);
  const known = new Set(uses.map(({ id }) => id));
  return [
    ...uses
      .filter(({ id }) => !answers.includes(id))
      .map(({ id }) => `tool use "${id}" is not answered`),
    ...answers
      .filter((id) => !known.has(id))
      .map((id) => `a result for "${id}" answers no tool use`),
    ...(new Set(answers).size < answers.length ? ['one tool use has two results'] : []),
    ...(content.slice(0, results.length).every(({ type }) => type === 'tool_result')
      ? []
      : ['results do not come first']),
  ];
}
