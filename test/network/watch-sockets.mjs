// Loaded into the program by NODE_OPTIONS: records which addresses it connects to and which names it looks
// up.
import dgram from 'node:dgram';
import dns from 'node:dns';
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const note = (what) => appendFileSync(process.env['SOCKET_LOG'], `${what}\n`);

const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function watched(...args) {
  this.on('connectionAttempt', (address, port) => note(`connect ${address}:${port}`));
  return connect.apply(this, args);
};

for (const [owner, name] of [
  [dns, 'lookup'],
  [dns, 'resolve'],
  [dns, 'resolve4'],
  [dns, 'resolve6'],
  [dns.promises, 'lookup'],
  [dns.promises, 'resolve'],
]) {
  const original = owner[name];
  owner[name] = function watched(host, ...rest) {
    if (net.isIP(String(host)) === 0) note(`name ${host}`);
    return original.call(this, host, ...rest);
  };
}

const { createSocket } = dgram;
dgram.createSocket = (...args) => {
  note('datagram');
  return createSocket(...args);
};
syncBuiltinESMExports();
