// What both lines of DCP's reference implementation need to run behind lines of JSON.
'use strict';

const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { createContext, runInContext } = require('node:vm');

// The packages are where this program is run, not where it is kept; dcp-client finds those that it depends on.
const load = createRequire(createRequire(`${process.cwd()}/`).resolve('dcp-client/package.json'));

// The bundle of dcp-client, as published, in a context of its own. `provided`: modules instead of those that it would
// find; `globals`: of the context; `milliseconds`: its clock.
exports.loadBundle = (provided, globals, milliseconds) => {
    const context = createContext({
        require: (name) => (Object.hasOwn(provided, name) ? provided[name] : load(name)),
        crypto: { getRandomValues: load('polyfill-crypto.getrandomvalues') },
        console,
        Buffer,
        URL,
        setTimeout,
        clearTimeout,
        setInterval,
        clearInterval,
        setImmediate,
        ...globals,
    });
    context.window = context;
    runInContext('Date', context).now = milliseconds;
    return runInContext(readFileSync(load.resolve('./dist/dcp-client-bundle.js'), 'utf8'), context);
};

// A queue whose values can be waited for.
exports.Queue = class Queue {
    #values = [];
    #waiting = [];

    put(value) {
        if (this.#waiting.length) this.#waiting.shift()(value);
        else this.#values.push(value);
    }

    take() {
        return this.#values.length ? this.#values.shift() : new Promise((resolve) => this.#waiting.push(resolve));
    }
};

// What promises come to, by the number that `begun` gives to each.
const outcomes = [];

exports.begun = (promise) => {
    const told = ({ name, message, code, type }) => ({ error: { name, message, code, type } });
    return outcomes.push(promise.then((response) => ({ result: response?.payload }), told)) - 1;
};

exports.outcome = (number) => outcomes[number];
