// dm3's reference libraries, as published, behind lines of JSON. docs/evidence/peers.md says how tests call it.
//
// The name in a line is LIBRARY.FUNCTION of a package, called as it is, or one of `ours` below: functions of the packages
// too, but for those arguments of theirs that JSON cannot write (functions and objects with methods).
'use strict';

const { createRequire } = require('node:module');

const serveLines = require('../lines.js');

// The packages are where this program is run, not where it is kept.
const load = createRequire(`${process.cwd()}/`);
const stable = load('safe-stable-stringify');
const { Wallet, providers } = load('ethers');

const libraries = {
    crypto: load('@dm3-org/dm3-lib-crypto'),
    delivery: load('@dm3-org/dm3-lib-delivery'),
    messaging: load('@dm3-org/dm3-lib-messaging'),
    profile: load('@dm3-org/dm3-lib-profile'),
    server: load('@dm3-org/dm3-lib-server-side'),
    shared: load('@dm3-org/dm3-lib-shared'),
};

// What the libraries ask of ENS, out of a registry {name: {address, texts: {key: text}}}; null for other names.
const ens = (registry) => ({
    resolveName: async (name) => (Object.hasOwn(registry, name) ? registry[name].address : null),
    getResolver: async (name) =>
        Object.hasOwn(registry, name) ? { getText: async (key) => registry[name].texts[key] } : null,
});

// ENS on a chain, by its JSON-RPC at a URL. The address of the registry is ethers' own.
const ensAt = (url) => new providers.StaticJsonRpcProvider(url, 1);

const fetchNothing = async (uri) => {
    throw Error(`a test would have fetched ${uri}`);
};

const ours = {
    'json.stringify': (text) => JSON.stringify(JSON.parse(text)),
    'stable.stringify': (text) => stable(JSON.parse(text)),

    // The account's signed profile and keys, made as the client does from a wallet.
    'wallet.createProfile': (walletPrivateKey, deliveryServices) => {
        const wallet = new Wallet(walletPrivateKey);
        const signer = (text) => wallet.signMessage(text);
        return libraries.profile.createProfile(wallet.address, deliveryServices, null, { signer });
    },

    'wallet.signMessage': (walletPrivateKey, text) => new Wallet(walletPrivateKey).signMessage(text),

    // Whether a value fits one of their schemas: what their programs ask of what is handed to them.
    'schema.fits': (library, name, value) =>
        libraries.shared.validateSchema(libraries[library].schema[name], value),

    // The client: from a message to the envelope that it posts, with the profiles given or looked up.
    'client.buildEnvelop': (message, sendDependencies) =>
        libraries.messaging.buildEnvelop(message, libraries.crypto.encryptAsymmetric, sendDependencies),
    'client.createEnvelop': (message, keys, registry) =>
        libraries.messaging.createEnvelop(message, ens(registry), keys, fetchNothing),
    'client.getUserProfile': (name, registry) => libraries.profile.getUserProfile(ens(registry), name),
    'client.getDeliveryServiceProfile': (name, registry) =>
        libraries.profile.getDeliveryServiceProfile(name, ens(registry), fetchNothing),
    'chain.createEnvelop': (message, url, keys) =>
        libraries.messaging.createEnvelop(message, ensAt(url), keys, fetchNothing),
    'chain.getUserProfile': (name, url) => libraries.profile.getUserProfile(ensAt(url), name),
    'chain.getDeliveryServiceProfile': (name, url) =>
        libraries.profile.getDeliveryServiceProfile(name, ensAt(url), fetchNothing),
};

function find(name) {
    if (Object.hasOwn(ours, name)) return ours[name];
    const [library, member] = name.split('.');
    const found = libraries[library]?.[member];
    if (typeof found !== 'function') throw Error(`${name} is no function of the libraries`);
    return found;
}

const serve = () => serveLines(find);

module.exports = { libraries, ours, serve };
if (require.main === module) serve();
