/** What a model counts and what its provider bills, worked out apart from the product. */
import type { ContentBlock, Message, ModelRequest, Usage } from 'pawl';
import type { ModelPlan, RatePlan, Tokenizer } from './scenario.ts';

const bytesIn = (text: string): number => Buffer.byteLength(text, 'utf8');

/** Ids and signatures are no text that a tokenizer sees. */
function bytesOf(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return bytesIn(block.text);
    case 'thinking':
      return bytesIn(block.thinking);
    case 'tool_use':
      return bytesIn(block.name) + bytesIn(JSON.stringify(block.input));
    case 'tool_result':
      return typeof block.content === 'string' ? bytesIn(block.content) : 0;
    default:
      return bytesIn(JSON.stringify(block));
  }
}

const tokensOfBytes = ({ percentOfBytes }: Tokenizer, sizeBytes: number): number =>
  Math.floor((sizeBytes * percentOfBytes) / 100);

const tokensOfBlock = (tokenizer: Tokenizer, block: ContentBlock): number =>
  tokenizer.perBlock + tokensOfBytes(tokenizer, bytesOf(block));

export const tokensOfContent = (tokenizer: Tokenizer, content: readonly ContentBlock[]): number =>
  content.length === 0
    ? 0
    : content.reduce((sum, block) => sum + tokensOfBlock(tokenizer, block), tokenizer.perMessage);

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

export const tokensOfRequest = (
  tokenizer: Tokenizer,
  {
    system,
    tools,
    messages,
  }: Pick<ModelRequest, 'system' | 'tools'> & {
    readonly messages: readonly Message[];
  },
): number =>
  tokenizer.perRequest +
  tokensOfBytes(tokenizer, bytesIn(system) + bytesIn(JSON.stringify(tools))) +
  sum(messages.map(({ content }) => tokensOfContent(tokenizer, content)));

export const inputOf = (usage: Usage): number =>
  usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

function ratesAt({ rates, tiers }: ModelPlan, inputTokens: number): RatePlan {
  let [found, above]: [RatePlan, number] = [rates, -1];
  for (const tier of tiers) {
    if (inputTokens > tier.aboveInputTokens && tier.aboveInputTokens > above) {
      [found, above] = [tier, tier.aboveInputTokens];
    }
  }
  return found;
}

const cacheRates = ({ input, cacheRead, cacheWrite, cacheWriteLong }: RatePlan) => ({
  read: cacheRead ?? input,
  write: cacheWrite ?? (input * 5) / 4,
  long: cacheWriteLong ?? input * 2,
});

/** In micro-dollars, rounded up. */
export function billOf(model: ModelPlan, usage: Usage): number {
  const rates = ratesAt(model, inputOf(usage));
  const { read, write, long } = cacheRates(rates);
  const short = usage.cacheWriteTokens - usage.cacheWriteLongTokens;
  const thousandths =
    usage.inputTokens * rates.input +
    usage.outputTokens * rates.output +
    usage.cacheReadTokens * read +
    short * write +
    usage.cacheWriteLongTokens * long;
  return Math.ceil(thousandths / 1_000);
}

/** The most that a request of exactly these tokens may be billed. */
export function dearestBill(model: ModelPlan, inputTokens: number, outputTokens: number): number {
  const rates = ratesAt(model, inputTokens);
  const { read, write, long } = cacheRates(rates);
  const dearest = Math.max(rates.input, read, write, long);
  return Math.ceil((inputTokens * dearest + outputTokens * rates.output) / 1_000);
}
