// The reference's ways of dm3, timed here: what its clock says holds neither lines of JSON nor pipes.
'use strict';

const { libraries, ours, serve } = require('../tests/peers/dm3/peer.js');
const { crypto, delivery, messaging, shared } = libraries;

// The step as the libraries have it: the postmark is made, the delivery information opened. No signature is checked.
const handle = (envelop, { service, bob }) => delivery.handleIncomingMessage(envelop, service.keys, bob.profile);

const ways = {
    step: (given) => handle(JSON.parse(given.envelop), given),

    // Their delivery service validates so, each time, before it does anything else.
    shipped: (given) => {
        const envelop = JSON.parse(given.envelop);
        if (!shared.validateSchema(messaging.schema.EncryptionEnvelopeSchema, envelop)) throw Error('invalid schema');
        return handle(envelop, given);
    },

    seal: async ({ bob, plaintext }) =>
        shared.stringify(await crypto.encryptAsymmetric(bob.profile.publicEncryptionKey, plaintext)),
    open: ({ bob, sealed }) => crypto.decryptAsymmetric(bob.keys.encryptionKeyPair, JSON.parse(sealed)),
};

async function someone() {
    const keys = {
        encryptionKeyPair: await crypto.createKeyPair(),
        signingKeyPair: await crypto.createSigningKeyPair(),
    };
    const profile = {
        publicEncryptionKey: keys.encryptionKeyPair.publicKey,
        publicSigningKey: keys.signingKeyPair.publicKey,
    };
    return { keys, profile };
}

// What the ways are given: a message with this body, from Alice to Bob, in the envelope that their client makes of it.
ours['bench.given'] = async (body) => {
    const [alice, bob, service] = await Promise.all([someone(), someone(), someone()]);
    const { privateKey } = alice.keys.signingKeyPair;
    const message = await messaging.createMessage('bob.eth', 'alice.eth', body, privateKey);
    const { encryptedEnvelop } = await messaging.buildEnvelop(message, crypto.encryptAsymmetric, {
        from: { ensName: 'alice.eth' },
        to: { ensName: 'bob.eth', profile: bob.profile },
        deliverServiceProfile: service.profile,
        keys: alice.keys,
    });
    const texts = { envelop: JSON.stringify(encryptedEnvelop), plaintext: shared.stringify(message) };
    return { service, bob, ...texts, sealed: encryptedEnvelop.message };
};

// How many seconds it takes to go a way `times` times.
ours['bench.time'] = async (way, given, times) => {
    const go = ways[way];
    const begin = performance.now();
    for (let time = 0; time < times; time += 1) await go(given);
    return (performance.now() - begin) / 1000;
};

serve();
