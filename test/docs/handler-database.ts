import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { type HandlerServer, startHandler } from '../support/handler.ts';

/**
 * Starts a handler that notes each event in `handled.db`. The database has what the service delivered from 20
 * November on, except what came on the 21st before six o'clock.
 */
export async function startHandlerWithDatabase(
  print: (command: string) => Promise<string>,
  folder: string,
): Promise<HandlerServer> {
  const query = (sql: string) => promisify(execFile)('sqlite3', [path.join(folder, 'handled.db'), sql]);
  await query('create table handled (event_id text primary key, event_type text)');
  const delivered = 'hooktrail events search --status SUCCESS --fields eventId,eventType --csv';
  for (const window of ['--since 2026-11-20 --until 2026-11-21', '--since 2026-11-21T06:00']) {
    const [, ...rows] = (await print(`${delivered} ${window}`)).trimEnd().split('\r\n');
    const values = rows.map((row) => `('${row.replace(',', "', '")}')`);
    await query(`insert or ignore into handled values ${values.join(', ')}`);
  }
  const handler = await startHandler();
  handler.answer = async ({ body }) => {
    const { eventId, eventType } = JSON.parse(body.toString());
    await query(`insert into handled values ('${eventId}', '${eventType}')`);
    return 200;
  };
  return handler;
}
