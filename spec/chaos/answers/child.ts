// A program that asks for one thing, and is killed at the answer: `child.js PLACE OPERATION`.

import { System } from "signalbox";
import { DRILLS } from "./all.js";
import { type AnswerPlace, storeOf } from "./places.js";

const [place = "", operation = ""] = process.argv.slice(2);
const [, drill] = DRILLS.find(([name]) => name === operation) ?? [];
await drill?.ask(new System({ report: false }), storeOf(JSON.parse(place) as AnswerPlace));
process.kill(process.pid, "SIGKILL");
