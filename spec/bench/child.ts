// One program in a Node process of its own: `child.js PROGRAMS NAME ROUNDS`, figures as JSON on standard output.
// PROGRAMS is the address of a module that exports `programs`.

import { type Program, runRounds } from "./program.js";

const [address = "", name = "", rounds] = process.argv.slice(2);
const { programs }: { programs: Readonly<Record<string, Program>> } = await import(address);
const program = programs[name];
if (program === undefined) throw new Error(`${address} has no program ${name}`);
process.stdout.write(`${JSON.stringify(await runRounds(program, Number(rounds)))}\n`);
process.exit(0);
