// A watched program in which code of a subject runs once; then it is idle: `idle-child.js PLACE`.

import { evidencePlaceOf, openEvidence } from "../../../lib/host/index.js";

const [place = ""] = process.argv.slice(2);
const evidence = openEvidence({
  place: evidencePlaceOf(place, { label: "idle" }, true),
  ...{ who: "flows", now: () => 0, after: () => () => undefined, opened: () => undefined },
});
/** In so many turns of the loop the thread that looks on has started: its start turns the loop of an idle program, too. */
const TURNS = 500;
function after(turns: number): void {
  if (turns > 0) setTimeout(after, 0, turns - 1);
  else evidence.begin("message:a").run(() => undefined);
}
// Before it is idle: what is printed turns the loop.
process.stdout.write("READY\n", () => after(TURNS));
setInterval(() => undefined, 1_000_000);
