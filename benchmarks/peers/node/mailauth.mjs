// What mailauth does to the mail that dkimpy is given, its key record answered at once.
import { readFileSync } from 'node:fs';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';

export async function ways(folder) {
    const mail = readFileSync(`${folder}/mail`);
    const record = readFileSync(`${folder}/record`, 'ascii');
    const resolver = async () => [[record]];
    return {
        dkim: async () => (await dkimVerify(mail, { resolver })).results.every(({ status }) => status.result === 'pass'),
    };
}
