// The program of each component, as the export makes it.

import { runComponent } from "signalbox/topology";

await runComponent(async () => (await import("./word-count.mjs")).default);
