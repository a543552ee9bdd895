// Definitions as files. After a change: run this test with `--update`, read the difference, and have the real Flux read them: `npm run storm`.

import { fluxDefinition, fluxText } from "signalbox/storm";
import { describe, expect, it } from "vitest";
import { builtByFlux } from "./flux-model.js";
import { EXPORTED } from "./topologies.js";

describe("a Flux definition", () => {
  it.each(Object.entries(EXPORTED))("of %s has not changed [N1444]", async (name, [topology, options]) => {
    await expect(fluxText(fluxDefinition(topology, options))).toMatchFileSnapshot(`golden/${name}.json`);
  });

  it.each(Object.entries(EXPORTED))(
    "of %s is read by a model of Flux, which the real one is compared with [N1444]",
    async (name, [topology, options]) => {
      const built = builtByFlux(fluxText(fluxDefinition(topology, options)));
      await expect(`${JSON.stringify(built, undefined, 2)}\n`).toMatchFileSnapshot(
        `golden/${name}.built.json`,
      );
    },
  );
});
