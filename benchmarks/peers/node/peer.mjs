// One peer, timed inside Node: `node peer.mjs MODULE WAY FOLDER ALGORITHM SIZE`, then a number
// of times a line; answers with seconds.
import { createInterface } from 'node:readline';

const [module, way, ...given] = process.argv.slice(2);
const go = (await (await import(`./${module}.mjs`)).ways(...given))[way];
if (!await go()) throw Error(`${module} refuses its own signature`);
for await (const line of createInterface({ input: process.stdin })) {
    const begin = performance.now();
    for (let time = Number(line); time > 0; time -= 1) await go();
    console.log((performance.now() - begin) / 1000);
}
