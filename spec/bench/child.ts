// One program of one side, in a Node process of its own: `child.js SIDE NAME ROUNDS`, figures as JSON on standard output.

import { type Program, runRounds } from "./program.js";

const [side, name, rounds] = process.argv.slice(2);
const { programs }: { programs: Readonly<Record<string, Program>> } = await import(`./${side}.js`);
const program = programs[name ?? ""];
if (program === undefined) throw new Error(`${side} has no program ${name}`);
process.stdout.write(`${JSON.stringify(await runRounds(program, Number(rounds)))}\n`);
process.exit(0);
