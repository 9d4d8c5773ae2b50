// Calls of functions by lines of JSON. docs/evidence/peers.md says how tests make them.
//
// A line of standard input, {"call": NAME, "args": [...]}, is answered by a line of standard output,
// {"result": ...} or {"error": "..."}.
'use strict';

const { createInterface } = require('node:readline');

// Standard output is for answers; what the libraries log goes to standard error.
console.log = console.info = console.debug = console.error;

async function answer(find, line) {
    try {
        const { call, args } = JSON.parse(line);
        return { result: (await find(call)(...args)) ?? null };
    } catch (error) {
        return { error: error?.message ?? String(error) };
    }
}

// `find` returns the function of a name, or throws.
module.exports = async function serve(find) {
    for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
        process.stdout.write(`${JSON.stringify(await answer(find, line))}\n`);
    }
};
