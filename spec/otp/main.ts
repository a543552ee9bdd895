// The command behind `npm run conformance -- FILE...`; conformance.ts says what it does.

import { conformance } from "./conformance.js";

process.exitCode = await conformance(process.argv.slice(2), { print: console.log, complain: console.error });
