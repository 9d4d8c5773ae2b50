// viem's and ethers' look-ups of a text, timed here: neither lines of JSON nor pipes are in it.
'use strict';

const { createRequire } = require('node:module');

const serveLines = require('../tests/peers/lines.js');

// The packages are where this program is run, not where it is kept.
const load = createRequire(`${process.cwd()}/`);
const viem = load('viem');
const { mainnet } = load('viem/chains');
const ethers = load('ethers');

// A client that looks a text up anew each time: ethers keeps answers for 250 ms otherwise.
const clients = {
    viem: (url) => {
        const client = viem.createPublicClient({ chain: mainnet, transport: viem.http(url) });
        return (name, key) => client.getEnsText({ name, key });
    },
    ethers: (url) => {
        const provider = new ethers.JsonRpcProvider(url, 1, { staticNetwork: true, cacheTimeout: -1 });
        return async (name, key) => (await provider.getResolver(name)).getText(key);
    },
};
const made = {};

// The processor time of so many look-ups, in seconds.
async function seconds(client, url, name, key, number) {
    const lookUp = (made[`${client} ${url}`] ??= clients[client](url));
    const begin = process.cpuUsage();
    for (let time = 0; time < number; time += 1) {
        if (!(await lookUp(name, key))) throw Error('there is no text');
    }
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1e6;
}

serveLines((name) => {
    if (name !== 'ens.seconds') throw Error(`${name} is no function of this program`);
    return seconds;
});
