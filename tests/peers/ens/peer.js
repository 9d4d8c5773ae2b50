// Clients of ENS, as published, behind lines of JSON. docs/evidence/peers.md says how tests call them.
'use strict';

const { createRequire } = require('node:module');

const serveLines = require('../lines.js');

// The packages are where this program is run, not where it is kept.
const load = createRequire(`${process.cwd()}/`);
const viem = load('viem');
const { privateKeyToAccount } = load('viem/accounts');
const { mainnet } = load('viem/chains');
const ethers = load('ethers');

const viemClient = (url) => viem.createPublicClient({ chain: mainnet, transport: viem.http(url) });
const ethersProvider = (url) => new ethers.JsonRpcProvider(url, 1, { staticNetwork: true });

// With a client of ethers that is ended afterwards: it would go on asking for new blocks.
async function withEthers(url, use) {
    const provider = ethersProvider(url);
    try {
        return await use(provider);
    } finally {
        provider.destroy();
    }
}

const clients = {
    'viem.text': (url, name, key) => viemClient(url).getEnsText({ name, key }),
    'viem.address': (url, name) => viemClient(url).getEnsAddress({ name }),
    'viem.send': async (url, privateKey, to, wei) => {
        const account = privateKeyToAccount(privateKey);
        const wallet = viem.createWalletClient({ account, chain: mainnet, transport: viem.http(url) });
        const hash = await wallet.sendTransaction({ to, value: BigInt(wei) });
        const receipt = await viemClient(url).waitForTransactionReceipt({ hash, pollingInterval: 20 });
        return receipt.status;
    },

    'ethers.text': (url, name, key) =>
        withEthers(url, async (provider) => (await provider.getResolver(name))?.getText(key)),
    'ethers.address': (url, name) => withEthers(url, (provider) => provider.resolveName(name)),
    'ethers.send': (url, privateKey, to, wei) =>
        withEthers(url, async (provider) => {
            provider.pollingInterval = 20;
            const wallet = new ethers.Wallet(privateKey, provider);
            const sent = await wallet.sendTransaction({ to, value: BigInt(wei) });
            const receipt = await sent.wait();
            return receipt.status === 1 ? 'success' : 'reverted';
        }),
};

serveLines((name) => {
    if (!Object.hasOwn(clients, name)) throw Error(`${name} is no function of the clients`);
    return clients[name];
});
