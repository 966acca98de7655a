import type { Environment } from './context.ts';

/**
 * Variables that agents set when they run a command line. Vercel's detect-agent proposes AI_AGENT for all of
 * them, and also checks those of Claude Code, Cursor, Gemini CLI and Codex, as does the AWS CDK's
 * detect-agent.ts.
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
 * Returns the variable set by an agent, if any. Agents get no pager, no colour, no progress, and errors as
 * JSON, unless flags or settings override that.
 */
export function agentVariable(environment: Environment): string | undefined {
  return AGENT_VARIABLES.find((name) => !/^(0|false)?$/i.test(environment[name] ?? ''));
}
