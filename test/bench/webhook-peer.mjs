import http from 'node:http';

/**
 * The other sides of the webhook bench, each a process of its own: `handler` takes every event and counts it by its id on
 * request (`GET /`), `proxy` hands every request on to a port, in the plainest way that Node has.
 */
const [kind, target] = process.argv.slice(2);
const counts = new Map();

function handler(request, response) {
  if (request.method === 'GET') {
    response.end(JSON.stringify([...counts]));
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (target === 'counting') {
      const { eventId } = JSON.parse(Buffer.concat(chunks).toString());
      counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
    }
    response.end();
  });
}

const agent = new http.Agent({ keepAlive: true });

function proxy(request, response) {
  const { method, url: path, headers } = request;
  const sent = http.request({ host: '127.0.0.1', port: target, method, path, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  request.pipe(sent);
}

const server = http.createServer(kind === 'proxy' ? proxy : handler);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
