// The importer of files of IPFS, and the writer of CARs, behind lines of JSON. docs/evidence/peers.md says how tests call
// them.
'use strict';

const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const serveLines = require('../lines.js');

// The packages are where this program is run, not where it is kept. They are modules, which only `import` finds by name.
const load = (path) => import(pathToFileURL(join(process.cwd(), 'node_modules', path)));

async function joined(parts) {
    const read = [];
    for await (const part of parts) read.push(part);
    return Buffer.concat(read);
}

async function start() {
    const { importer } = await load('ipfs-unixfs-importer/dist/src/index.js');
    const { fixedSize } = await load('ipfs-unixfs-importer/dist/src/chunker/index.js');
    const layouts = await load('ipfs-unixfs-importer/dist/src/layout/index.js');
    const { CarWriter } = await load('@ipld/car/src/index.js');

    // A file at a path, of which the first name is a directory if there are two. The root's CID, and a CAR in base64.
    async function add(content, path, { version, rawLeaves, reduced, chunkSize, layout, children }) {
        const blocks = [];
        const store = {
            put: async (cid, bytes) => {
                blocks.push({ cid, bytes });
                return cid;
            },
        };
        let root;
        const files = [{ path, content: Buffer.from(content, 'base64') }];
        for await (const entry of importer(files, store, {
            cidVersion: version,
            rawLeaves,
            reduceSingleLeafToSelf: reduced,
            chunker: fixedSize({ chunkSize }),
            layout: layouts[layout]({ maxChildrenPerNode: children }),
        })) {
            root = entry.cid;
        }
        const { writer, out } = CarWriter.create([root]);
        const car = joined(out);
        for (const block of blocks) await writer.put(block);
        await writer.close();
        return { cid: root.toString(), car: (await car).toString('base64') };
    }

    serveLines((name) => ({ add })[name]);
}

start();
