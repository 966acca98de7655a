import type { KeptList } from '../../src/files/kept-list.ts';
import type { Service } from '../../src/http/service.ts';
import type { HttpResponse } from '../../src/http/transport.ts';
import { clock } from './clock.ts';

export const jsonAnswer = (body: unknown, status = 200): HttpResponse => ({
  status,
  headers: {},
  body: Buffer.from(JSON.stringify(body)),
});

interface AnsweringService extends Service {
  /** The paths of the requests so far. */
  readonly asked: string[];
  /** The lists kept on disk, by their names. */
  readonly kept: Map<string, unknown>;
  abort(reason: Error): void;
}

/** A service that answers by the path of the request, and keeps its lists in memory. */
export function answeringService(
  answers: Readonly<Record<string, HttpResponse | Error>>,
  kept = new Map<string, unknown>(),
): AnsweringService {
  const asked: string[] = [];
  const abort = new AbortController();
  const keptList = (name: string): KeptList => ({
    file: name,
    read: () => kept.get(name),
    replace: async (list) => void kept.set(name, list),
  });
  return {
    asked,
    kept,
    abort: (reason) => abort.abort(reason),
    baseUrl: new URL('https://events.example.com/v1'),
    clock,
    signal: abort.signal,
    keptList,
    send: async ({ url }) => {
      const path = url.pathname.replace(/^\/v1/, '');
      asked.push(path);
      const answer = answers[path] ?? jsonAnswer({}, 404);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}
