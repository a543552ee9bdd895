// The word count in our own host, as a program of its own. It ends when its input does.

import { System } from "signalbox";
import wordCount from "./word-count.mjs";

const system = new System({ name: "figures" });
await system.start(wordCount);
process.stdin.resume().on("end", () => void system.stop());
