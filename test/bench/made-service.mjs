import http from 'node:http';

/**
 * `EVENTS BYTES`: a service with that many events of that size, newest first, each a second's fraction older
 * than the one before, over 30 days. It makes pages when they are asked for, at no more cost for a later
 * offset, answers counts without looking, and holds nothing in memory. `/asked` has the number of requests
 * and the sum of all offsets since it was last asked. A process of its own, which prints its port.
 */
const [events, bytes] = process.argv.slice(2).map(Number);
const END = Date.UTC(2026, 10, 20, 12);
const STEP = Math.max(1, Math.floor((30 * 86_400_000) / events));

const template = (() => {
  const item = {
    subscriptionId: '6e7ac0e1-db63-4f03-9805-e60d32c4b8b5',
    publishStatus: 'SUCCESS',
    createdOn: new Date(END).toISOString(),
    eventData: { eventId: '00000000-0000-4000-8000-000000000000', eventType: 'order.placed', note: '' },
  };
  item.eventData.note = 'n'.repeat(bytes - JSON.stringify(item).length);
  return Buffer.from(`,${JSON.stringify(item)}`);
})();
const ID_AT = template.indexOf('00000000-');
const TIME_AT = template.indexOf('"createdOn":"') + '"createdOn":"'.length;

function itemsFrom(first, count) {
  const items = Buffer.alloc(template.length * count);
  for (let at = 0; at < count; at++) {
    const start = at * template.length;
    template.copy(items, start);
    const index = first + at;
    items.latin1Write(index.toString(16).padStart(8, '0'), start + ID_AT);
    items.latin1Write(new Date(END - index * STEP).toISOString(), start + TIME_AT);
  }
  return items.subarray(1);
}

let asked = { requests: 0, offsets: 0 };

function answer(query) {
  const bound = (operator) => Date.parse(new RegExp(`${operator}\\(createdOn,([^)]+)\\)`).exec(query)?.[1]);
  const [after, before] = [bound('gt'), bound('lt')];
  const first = before <= END ? Math.floor((END - before) / STEP) + 1 : 0;
  const end = Math.min(events, Number.isNaN(after) ? events : Math.ceil((END - after) / STEP));
  const count = Math.max(0, end - first);
  const [, start = '1', size = '500'] = /limit\((\d+),(\d+)\)/.exec(query) ?? [];
  const offset = Number(start) - 1;
  asked = { requests: asked.requests + 1, offsets: asked.offsets + offset };
  const length = Math.max(0, Math.min(Number(size), count - offset));
  const head = `{"count":${count},"limit":500,"items":[`;
  return Buffer.concat([Buffer.from(head), itemsFrom(first + offset, length), Buffer.from(']}')]);
}

const server = http.createServer((request, response) => {
  const [path, query = ''] = decodeURIComponent(request.url ?? '').split('?');
  let body = Buffer.from('{"count":0,"items":[]}');
  if (path.endsWith('/integrator-events')) body = answer(query);
  if (path === '/asked') {
    body = Buffer.from(JSON.stringify(asked));
    asked = { requests: 0, offsets: 0 };
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
