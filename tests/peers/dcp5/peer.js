// The line of DCP's reference implementation that is published now, behind lines of JSON, as ../dcp/peer.js is.
//
// It speaks another protocol. An initiator sends no further than here: its own transport by socket.io writes into a
// socket of ours, and tests take what it wrote by `connection.sent`.
'use strict';

const { EventEmitter } = require('node:events');

const serveLines = require('../lines.js');
const { Queue, begun, loadBundle, outcome } = require('../dcp/ends.js');

// The time, in seconds; tests set it.
let now = 0;

const elsewhere = { location: new URL('https://elsewhere.example') };
const dcpConfig = {
    needs: { urlPatchup: true },
    system: {},
    worker: {},
    scheduler: elsewhere,
    bank: elsewhere,
    packageManager: elsewhere,
    portal: elsewhere,
    pxAuth: elsewhere,
    oAuth: elsewhere,
    cdn: elsewhere,
    dcp: { connectionOptions: { default: { lingerTimeout: 60 } } },
};
const provided = { 'dcp/env-native': { platform: 'nodejs' } };
const globals = { dcpConfig, URLSearchParams, clearImmediate, performance };
const { protocol, wallet, 'dcp-url': urls } = loadBundle(provided, globals, () => now * 1000);

// In the place of socket.io: what the transport connects by, and the socket that it then has.
class QueueSocket extends EventEmitter {
    sent = new Queue();

    connect() {
        // Not before the transport listens.
        setImmediate(() => this.emit('connect'));
        return this;
    }

    send(message) {
        // Others are the transport's own: it announces what it can do.
        if (message.startsWith('{')) this.sent.put(message);
    }

    compress() {}

    disconnect() {}
}

const ends = [];

const calls = {
    'clock.set': (seconds) => {
        now = seconds;
    },
    'initiator.new': async (secret, url) => {
        const identity = await new wallet.IdKeystore(secret, '');
        const socket = new QueueSocket();
        const target = { location: new urls.DcpURL(url) };
        const connection = new protocol.Connection(target, { identity, socketio: { module: socket } });
        return ends.push({ connection, socket }) - 1;
    },
    'connection.send': (number, requests) =>
        requests.map(([operation, data]) => begun(ends[number].connection.send({ operation, data }))),
    'connection.sent': (number) => ends[number].socket.sent.take(),
    'connection.receive': (number, message) => {
        ends[number].socket.emit('message', message);
    },
    outcome,
};

serveLines((name) => {
    if (!Object.hasOwn(calls, name)) throw Error(`${name} is no call of this program`);
    return calls[name];
});
