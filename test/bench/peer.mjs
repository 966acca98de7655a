import http from 'node:http';

/**
 * `EVENTS BYTES MILLISECONDS`: a service that answers each request after that many milliseconds with a page
 * of events of that size, newest first, all of which it made before it started. A process of its own, which
 * prints its port.
 */
const [events, bytes, latency] = process.argv.slice(2).map(Number);
const PAGE = 500;

const item = (index) => {
  const event = {
    eventId: `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
    eventType: 'order.placed',
    createdOn: new Date(Date.UTC(2026, 0, 1) - index * 1000).toISOString(),
    publishStatus: index % 50 === 0 ? 'FAILED' : 'SUCCESS',
    subscriptionId: '6e7ac0e1-db63-4f03-9805-e60d32c4b8b5',
    note: '',
  };
  event.note = 'x'.repeat(bytes - JSON.stringify(event).length);
  return JSON.stringify(event);
};
const made = new Map();
for (let start = 1; start <= events; start += PAGE) {
  const length = Math.min(PAGE, events - start + 1);
  const items = Array.from({ length }, (_, offset) => item(start + offset));
  const text = `{"count":${events},"limit":${PAGE},"items":[${items.join(',')}]}`;
  made.set(`limit(${start},${PAGE})`, Buffer.from(text));
}
const server = http.createServer((request, response) => {
  const body = made.get(/limit\(\d+,\d+\)/.exec(request.url)?.[0]);
  const answer = () => {
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' });
    response.end(body);
  };
  if (latency > 0) setTimeout(answer, latency);
  else answer();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
