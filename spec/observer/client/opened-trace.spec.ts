// The page of the simulator opens what an exploration has kept, says what a token is, and takes no file at its word.

import { expect, test } from "vitest";
import { openedTrace } from "../../../lib/observer/client/model/opened-trace.js";
import { writeFailure } from "../../../lib/testing/report/failure-file.js";
import { encodeToken } from "../../../lib/testing/report/token.js";
import type { Trace } from "../../../lib/testing/report/trace.js";
import { renderViewer } from "../../../lib/testing/viewer/page.js";
import { pictureOf } from "../../../lib/testing/viewer/picture.js";

const trace: Trace = {
  steps: [
    {
      number: 1,
      at: 0,
      type: "run",
      process: "scenario",
      took: "starts",
      effects: [{ type: "spawn", process: "shop" }],
    },
    { number: 2, at: 5, type: "timer", process: "shop", what: "</script><img src=x>", effects: [] },
  ],
  failure: "Error: </script> sold twice",
};
const token = encodeToken({ scenario: "shop", choices: [0, 2, 1], sizes: [2, 3, 2], digest: 7, settings: 0 });

test("a kept failure and the page beside it are the same steps [N1589]", () => {
  const picture = pictureOf(trace);
  expect(openedTrace(writeFailure({ name: "shop", token, trace }))).toEqual({
    type: "steps",
    name: "shop",
    token,
    picture,
  });
  expect(openedTrace(`\n${renderViewer(trace)}`)).toMatchObject({
    type: "steps",
    picture: JSON.parse(JSON.stringify(picture)) as object,
  });
});

test("a token is known as one, and a damaged one is refused with its damage [N1589]", () => {
  expect(openedTrace(` ${token}\n`)).toEqual({ type: "token", token, choices: 3, deviations: 2 });
  expect(openedTrace(token.slice(0, -2))).toMatchObject({
    type: "problem",
    text: expect.stringContaining("token"),
  });
});

const page = (picture: unknown): string =>
  `<script type="application/json" id="trace">${JSON.stringify(picture)}</script>`;

test.each([
  ["", "nothing in it"],
  ["{", "no JSON"],
  ["{}", "its format"],
  [page({ lanes: ["a"], steps: [{ lane: 3 }], arrows: [], failure: "" }), "no steps"],
  [
    page({ lanes: ["a"], steps: [], arrows: [{ from: { step: 0, lane: 9 }, target: 0 }], failure: "" }),
    "no steps",
  ],
  [page(null), "no steps"],
])("what is none of these is refused with the reason: %j [N1589]", (text, reason) => {
  expect(openedTrace(text)).toMatchObject({ type: "problem", text: expect.stringContaining(reason) });
});
