// What @fedify/fedify does to an activity of some 2 kB, its sender's key in its cache.
import { createProof, signObject, signRequest, verifyObject, verifyProof, verifyRequest } from '@fedify/fedify';
import { Create, CryptographicKey, Multikey, Note } from '@fedify/vocab';

const actor = new URL('https://any-sender.com/users/orders');
const keyId = new URL('#key', actor);
const text = 'two pieces, and no oil please; the door is round the corner, ring twice and wait a little. ';

const activity = (length) => new Create({
    id: new URL('https://any-sender.com/activities/4711'),
    actor,
    object: new Note({
        id: new URL('https://any-sender.com/notes/4711'),
        attribution: actor,
        content: text.repeat(length / text.length + 1).slice(0, length),
    }),
});

const compact = (object) => object.toJsonLd({ format: 'compact' });
const cached = (key) => ({ keyCache: { get: async () => key, set: async () => {} } });

// An activity that is of `size` bytes when it is written.
async function activityOf(size) {
    const rest = JSON.stringify(await compact(activity(0)));
    return activity(size - rest.length);
}

async function ed25519(size) {
    const { privateKey, publicKey } = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    const options = cached(new Multikey({ id: keyId, controller: actor, publicKey }));
    const object = await activityOf(size);
    const proof = await createProof(object, privateKey, keyId);
    const unsigned = JSON.stringify(await compact(object));
    const signed = JSON.stringify(await compact(await signObject(object, privateKey, keyId)));
    return {
        // The proof alone, of an activity whose proof was read already.
        proof: () => verifyProof(JSON.parse(unsigned), proof, options),
        // What its inbox does before a handler sees the activity: vocabulary read, proof and attribution checked.
        object: () => verifyObject(Create, JSON.parse(signed), options),
    };
}

async function rsa(size) {
    const kind = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
    const { privateKey, publicKey } = await crypto.subtle.generateKey(kind, true, ['sign', 'verify']);
    const options = cached(new CryptographicKey({ id: keyId, owner: actor, publicKey }));
    const body = JSON.stringify(await compact(await activityOf(size)));
    const headers = { 'content-type': 'application/activity+json' };
    const request = new Request('https://any-receiver.com/inbox', { method: 'POST', headers, body });
    const signed = await signRequest(request, privateKey, keyId);
    return {
        // A signed request: Digest of the body, Date, Signature over both and some headers.
        request: async () => JSON.parse(body) && verifyRequest(signed.clone(), options),
    };
}

export const ways = async (_folder, algorithm, size) => (algorithm === 'rsa' ? rsa(size) : ed25519(size));
