// The suite for every store, on the store in memory: as that of one process, and as one that hosts share.

import { memory } from "signalbox/store";
import { sized } from "../../support/proof.js";
import { conformance, type Place } from "../conformance.js";

const runs = sized(40, 0.1, 100);

conformance("memory", {
  runs,
  make: async () => ({ source: memory(), dispose: async () => undefined }),
});

const skews = new WeakMap<Place, { ms: number }>();

conformance("shared memory", {
  runs,
  async make() {
    const skew = { ms: 0 };
    const source = memory({ shared: true, clock: () => Date.now() + skew.ms });
    const place: Place = { source, dispose: async () => undefined };
    skews.set(place, skew);
    return place;
  },
  async advance(place, ms) {
    (skews.get(place) as { ms: number }).ms += ms;
  },
});
