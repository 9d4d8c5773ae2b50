// DCP's reference implementation, as published, behind lines of JSON. docs/evidence/peers.md says how tests call it.
//
// What a connection sends goes no further than here: tests take it by `connection.sent`, and bring what it receives by
// `connection.receive`.
'use strict';

const { basename } = require('node:path');

const serveLines = require('../lines.js');
const { Queue, begun, loadBundle, outcome } = require('./ends.js');

// The time, in seconds; tests set it. This version counts milliseconds, and the specification seconds: with clocks that
// tick in seconds, it writes and compares what the specification says.
let now = 0;
const provided = {
    'dcp/env-native': { platform: 'nodejs' },
    // Where this package is, it verifies by ethereumjs-util and the native code that npm's secp256k1 and keccak bring;
    // without it, by JavaScript of its own, in over a thousand times as long. `plain`: as it is shipped, without.
    ...(process.argv.includes('plain') ? {} : { bindings: () => {} }),
    perf_hooks: { performance: { now: () => now } },
};

const dcpConfig = {
    needs: { urlPatchup: true },
    scheduler: {},
    bank: { location: new URL('https://bank.example') },
    packageManager: { location: new URL('https://packages.example') },
    dcp: {
        defaultTTL: { min: 15, max: 600, default: 120 },
        allowBatch: true,
        maxMessagesPerBatch: 10,
        identityUnlockTimeout: 600,
        closeTimeout: 60_000,
        validitySlopValue: 10,
        validityStampCachePurgeInterval: 60_000,
    },
};
const bundle = loadBundle(provided, { dcpConfig }, () => now);
const { wallet, 'protocol-v4': protocol } = bundle;
const { RangeError } = bundle['standard-objects'];
const modules = Object.values(bundle['standard-objects'].__webpack_require__.c);
const { Transport } = modules.find((module) => module.exports?.Transport).exports;

class QueueTransport extends Transport {
    sent = new Queue();

    // `use` is what a target gets this transport by.
    constructor(use) {
        super();
        use?.(this);
    }

    async connect(url) {
        const end = ends.find((each) => each.connection?.url === url);
        end.use(this);
        if (end.target) link(this, await end.target.transport);
    }

    send(message) {
        if (this.other) setImmediate(() => this.other.emit('message', message));
        else this.sent.put(message);
    }

    async close() {
        this.emit('close');
    }
}
Transport.require = () => QueueTransport;

// The ends of connections here. `transport` is a promise; a target has no `connection` before it has answered a connect.
const ends = [];

// What one of these sends, the other receives, in another turn of the loop.
function link(one, other) {
    one.other = other;
    other.other = one;
}

function newEnd() {
    const end = {};
    end.transport = new Promise((resolve) => {
        end.use = resolve;
    });
    ends.push(end);
    return end;
}

// Making a keystore, and unlocking it, takes most of the time of a test.
const keystores = new Map();

function keystore(secret) {
    if (!keystores.has(secret)) keystores.set(secret, new wallet.IdKeystore(secret, ''));
    return keystores.get(secret);
}

// What an application at either end does, by the operation.
const operations = {
    echo: (request) => request.payload.data,
    fail: (request) => Object.assign(new RangeError(request.payload.data), { code: 'E7' }),
    authorizes: (request) => request.doesAuthorize(request.payload.data.resource),
};

function serveRequests(end, connection) {
    end.connection = connection;
    connection.on('request', (request) => request.respond(operations[request.payload.operation](request)));
}

// An initiator and a target here that are linked.
async function newPair() {
    const [end, target] = [newEnd(), newEnd()];
    end.target = target;
    const [own, theirs] = await Promise.all(['11'.repeat(32), '22'.repeat(32)].map(keystore));
    protocol.accept(target.use, QueueTransport, theirs).then((connection) => serveRequests(target, connection));
    await target.transport;
    serveRequests(end, new protocol.Connection(`https://pair-${ends.length}.example/`, own));
    return end.connection;
}

async function secondsOf(work) {
    const begun = process.hrtime.bigint();
    await work();
    return Number(process.hrtime.bigint() - begun) / 1e9;
}

const calls = {
    // The files of native code that this process has loaded.
    'native.files': () => {
        const { sharedObjects } = process.report.getReport();
        return sharedObjects.filter((path) => path.endsWith('.node')).map((path) => basename(path));
    },

    'clock.set': (seconds) => {
        now = seconds;
    },

    'initiator.new': (secret, url) => {
        serveRequests(newEnd(), new protocol.Connection(url, keystore(secret)));
        return ends.length - 1;
    },
    'target.new': async (secret) => {
        const end = newEnd();
        const number = ends.length - 1;
        protocol.accept(end.use, QueueTransport, keystore(secret)).then((connection) => serveRequests(end, connection));
        await end.transport;
        return number;
    },

    'connection.connect': (number) => begun(ends[number].connection.connect()),
    'connection.keepalive': (number) => begun(ends[number].connection.keepalive()),
    'connection.close': (number) => begun(ends[number].connection.close()),
    'connection.send': (number, requests) =>
        requests.map(([operation, data]) => begun(ends[number].connection.send(operation, data))),
    'connection.authorized': async (number, operation, data, resource) => {
        const { connection } = ends[number];
        const request = new connection.Request(operation, data);
        await request.authorize(await keystore(resource));
        return begun(request.send());
    },

    'connection.present': (number, { payload, auth }) => {
        const { connection } = ends[number];
        return begun(Object.assign(new connection.Request(payload), { auth }).send());
    },

    // The seconds that these take between two ends here.
    'pair.open': async () => {
        const connection = await newPair();
        return secondsOf(() => connection.connect());
    },
    'pair.send': async (times, atOnce) => {
        const connection = await newPair();
        await connection.connect();
        return secondsOf(async () => {
            for (let sent = 0; sent < times; sent++) {
                await Promise.all(Array.from({ length: atOnce }, () => connection.send('echo', { amount: 7 })));
            }
        });
    },

    'connection.sent': async (number) => (await ends[number].transport).sent.take(),
    'connection.receive': async (number, message) => {
        (await ends[number].transport).emit('message', message);
    },

    outcome,

    // A request that is not sent, but handed on. Without a peer, its own clock counts.
    cheque: async (operation, data, resource, guardian, accessor) => {
        const connection = new protocol.Connection(undefined, keystore(resource), undefined, { ttl: { ntp: true } });
        const request = Object.assign(new connection.Request(operation, data), { id: 'cheque' });
        await request.authorize(await keystore(resource), guardian, accessor);
        return request.toJSON();
    },

    // The seconds of the processor that parsing and verifying a message `times` times takes, as a connection does with
    // each that it receives.
    'message.verify': (text, times) => {
        const before = process.cpuUsage();
        for (let time = 0; time < times; time++) {
            const { owner, body, signature } = JSON.parse(text);
            if (!new wallet.Address(owner).verifySignature(body, signature)) throw Error('a wrong signature');
        }
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1e6;
    },
    'message.sign': async (secret, body) => (await keystore(secret)).makeSignedMessage(body),

    'keystore.write': async (secret, passphrase) => (await new wallet.Keystore(secret, passphrase)).toJSON(),
    'keystore.open': async (written, passphrase) => {
        const opened = await new wallet.Keystore(written);
        await opened.unlock(passphrase, 60);
        return String(await opened.getPrivateKey());
    },
};

serveLines((name) => {
    if (!Object.hasOwn(calls, name)) throw Error(`${name} is no call of this program`);
    return calls[name];
});
