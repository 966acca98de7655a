import http from 'node:http';

/**
 * Another service for the search bench, in a separate process: `prepared-pages-peer.mjs EVENTS BYTES MILLISECONDS`
 * answers each request after that many milliseconds with a page of events of that size, newest first. It makes all
 * pages of 500 before it prints its port, so that its own work adds almost nothing to the measurement.
 */
const [events, bytes, latency] = process.argv.slice(2).map(Number);
const NEWEST = Date.UTC(2026, 0, 1);
const PAGE = 500;

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
  event.note = 'x'.repeat(bytes - JSON.stringify(event).length);
  return JSON.stringify(event);
}

function page(start) {
  const length = Math.min(PAGE, events - start + 1);
  const items = Array.from({ length }, (_, offset) => item(start + offset));
  return Buffer.from(`{"count":${events},"limit":${PAGE},"items":[${items.join(',')}]}`);
}

const pages = new Map();
for (let start = 1; start <= events; start += PAGE) pages.set(`limit(${start},${PAGE})`, page(start));

const server = http.createServer((request, response) => {
  const body = pages.get(/limit\(\d+,\d+\)/.exec(request.url)?.[0]);
  const answer = () => {
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' });
    response.end(body);
  };
  if (latency > 0) setTimeout(answer, latency);
  else answer();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
