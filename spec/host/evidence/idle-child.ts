// A watched program in which code of a subject runs once; then it is idle: `idle-child.js PLACE`.

import { evidencePlaceOf, openEvidence } from "../../../lib/host/index.js";

const [place = ""] = process.argv.slice(2);
const evidence = openEvidence({
  place: evidencePlaceOf(place, { label: "idle" }, true),
  ...{ who: "flows", now: () => 0, after: () => () => undefined, opened: () => undefined },
});
// Before it is idle: what is printed turns the loop.
process.stdout.write("READY\n", () => {
  setTimeout(() => evidence.begin("message:a").run(() => undefined));
});
setInterval(() => undefined, 1_000_000);
