/** In how many of 1,000 runs each thing has to happen, at least: a proof that stops meeting something proves less. */
const leastPerThousand: Readonly<Record<string, number>> = {
  // How runs end.
  'status completed': 150,
  'status exhausted': 100,
  'status failed': 50,
  'status cancelled': 80,
  'status refused': 5,
  // Why.
  'limit maxTurns': 30,
  'limit maxInputTokens': 3,
  'limit maxOutputTokens': 6,
  'limit maxTotalTokens': 4,
  'limit maxCostMicros': 10,
  'limit maxActiveMs': 4,
  'limit deadlineAt': 10,
  'limit maxRepeats': 12,
  'limit maxMalformedReplies': 2,
  'limit maxReplyTokens': 8,
  'limit maxContinuations': 1,
  'limit contextWindow': 2,
  'maxCalls used up': 8,
  'loop stopped': 20,
  'max_tokens shrunk': 40,
  'wrap-up asked': 30,
  'wrap-up owed': 2,
  'budget raised on request': 20,
  'uncertain tokens charged': 60,
  'uncertain cost charged': 40,
  // What models do.
  'reply message': 500,
  'reply error': 40,
  'reply cut': 40,
  'reply hang': 8,
  'reply broken': 10,
  'reply tooLong': 8,
  'reply cut by its room': 50,
  'fallback asked': 30,
  'asked without a stream': 60,
  'id renamed': 30,
  'answer continued': 5,
  replay: 500,
  'stop pause_turn': 8,
  'stop brand_new_reason': 3,
  // What tools do.
  'tool return': 30,
  'tool throw': 6,
  'tool throwAtOnce': 6,
  'tool hang': 6,
  'tool neverSettle': 6,
  'tool slow': 30,
  'tool returnMuch': 6,
  'bodies at the same time': 12,
  'body began again': 12,
  'probe truth': 1,
  // What people do.
  'approval grant': 15,
  'approval deny': 5,
  'approval edit': 5,
  'a wrong hash refused': 5,
  'a wrong edit refused': 5,
  'a second approval refused': 5,
  'interrupted call retried': 1,
  'interrupted call settled': 1,
  'left waiting in awaitBudget': 15,
  'left waiting in executeTools.waiting': 5,
  'pause resumed': 10,
  'intervention cancel': 25,
  'intervention abort': 25,
  'intervention steer': 40,
  'intervention raise': 20,
  // What befalls the process.
  'intervention crash': 40,
  'intervention suspend': 25,
  resume: 60,
  'request after a resume': 50,
  'compaction summary': 3,
  'compaction throwing': 3,
};

/** What these runs met too rarely, as sentences. */
export const gapsIn = (covered: ReadonlyMap<string, number>, runs: number): readonly string[] =>
  Object.entries(leastPerThousand).flatMap(([what, least]) => {
    const wanted = Math.floor((least * runs) / 1_000);
    const times = covered.get(what) ?? 0;
    return times < wanted ? [`${what}: in ${times} of ${runs} runs, expected ${wanted}`] : [];
  });
