import type { Environment } from './context.ts';

/**
 * Variables by which agents show that they run a command line: AI_AGENT is the name that Vercel's
 * detect-agent proposes for all of them, and has those of Claude Code, Cursor, Gemini CLI and Codex too, as
 * has the AWS CDK's detect-agent.ts.
 */
const AGENT_VARIABLES = [
  'AI_AGENT',
  'CLAUDECODE',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'CODEX_SANDBOX',
  'CODEX_THREAD_ID',
] as const;

/**
 * Returns the variable that shows that an agent runs the command line, if one does. Then there is no pager,
 * no colour and no progress, and errors are JSON, unless flags or settings ask for them.
 */
export function agentVariable(environment: Environment): string | undefined {
  return AGENT_VARIABLES.find((name) => !/^(0|false)?$/i.test(environment[name] ?? ''));
}
