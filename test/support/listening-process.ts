import { type Listening, listening } from './listening.ts';
import { type Running, startProcess } from './process.ts';

/** Runs `webhooks listen` as a separate process, which can be killed. */
export async function startListeningProcess(...flags: string[]): Promise<Listening & { program: Running }> {
  return (await listening(startProcess, flags)) as Listening & { program: Running };
}
