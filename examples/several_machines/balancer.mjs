// Leads each connection to the next of some ports of this machine, or to the one after it if nothing listens there.
//
//   node balancer.mjs PORT PORT ..     prints the port at which it listens

import net from 'node:net';

const ports = process.argv.slice(2);
let turn = 0;

function connect(client, attempts) {
  const server = net.connect(ports[turn++ % ports.length], '127.0.0.1');
  server.once('connect', () => {
    server.setNoDelay(true);
    server.removeAllListeners('error');
    server.on('error', () => client.destroy());
    client.on('error', () => server.destroy());
    client.pipe(server).pipe(client);
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
  });
  server.once('error', () => (attempts > 1 ? connect(client, attempts - 1) : client.destroy()));
}

const listener = net.createServer({ noDelay: true, pauseOnConnect: false }, (client) => connect(client, ports.length));
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));
