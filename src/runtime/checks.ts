/** Refuses bad input of callers before any effect: which field, what was expected, what was got. */
import { invalidInput, PawlError } from '../core/errors.ts';
import { limitsOf } from '../core/budget.ts';
import { historyProblems, repairHistory } from '../core/history.ts';
import { isJsonObject } from '../core/json.ts';
import { type ContentBlock, isBlank, type Message, text } from '../core/message.ts';
import { schemaVersion } from '../core/run-context.ts';
import type { RunSnapshot } from '../stores/store.ts';
import type { AgentOptions, Prompt } from './agent.ts';
