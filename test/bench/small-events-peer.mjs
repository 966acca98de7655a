import http from 'node:http';

/**
 * Another service of the search bench, in a process of its own: `events` of 380 bytes each, newest first, in pages that
 * are made once. It prints the port that it listens on.
 */
const events = Number(process.argv[2]);
const NEWEST = Date.UTC(2026, 0, 1);
const pages = new Map();

function item(index) {
  const id = `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const event = {
    eventId: id,
    eventType: 'order.placed',
    createdOn: new Date(NEWEST - index * 1000).toISOString(),
    publishStatus: index % 50 === 0 ? 'FAILED' : 'SUCCESS',
    subscriptionId: '6e7ac0e1-db63-4f03-9805-e60d32c4b8b5',
    note: '',
  };
  event.note = 'x'.repeat(380 - JSON.stringify(event).length);
  return JSON.stringify(event);
}

function page(start, limit) {
  const length = Math.max(0, Math.min(limit, events - start + 1));
  const items = Array.from({ length }, (_, offset) => item(start + offset));
  return Buffer.from(`{"count":${events},"limit":${limit},"items":[${items.join(',')}]}`);
}

const server = http.createServer((request, response) => {
  const [key = 'limit(1,25)', start = '1', limit = '25'] = /limit\((\d+),(\d+)\)/.exec(request.url) ?? [];
  if (!pages.has(key)) pages.set(key, page(Number(start), Number(limit)));
  response.setHeader('content-type', 'application/json');
  response.end(pages.get(key));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
