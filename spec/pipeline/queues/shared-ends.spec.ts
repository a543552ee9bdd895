// The claim under which durable queues say where the lives of their program ended.

import { System } from "signalbox";
import { memory, openStore, type Store } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STANDING_SCHEMA, standingEnds } from "../../../lib/host/evidence/standing-rows.js";
import { type Evidence, hostEvidence } from "../../../lib/host/index.js";
import { SharedEnds } from "../../../lib/pipeline/queues/shared-ends.js";
import { SHARER_CLAIMS } from "../../../lib/pipeline/queues/tables.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { until } from "./waits.js";

const SUBJECT = "queued:q/1";

describe("programs with durable queues that share a store", () => {
  let system: System;
  let store: Store;
  let evidence: Evidence;
  let ends: SharedEnds;

  function born(box: EvidenceBox): void {
    const options = { kind: "queues", evidence: box, store: { label: "test" }, shared: true } as const;
    evidence = hostEvidence(system.kernel, options, () => undefined);
    ends = new SharedEnds(system.kernel, store, evidence);
  }

  beforeEach(async () => {
    system = new System({ report: false });
    store = await openStore(system, memory({ shared: true }), [STANDING_SCHEMA]);
    const box = new EvidenceBox();
    // The life that ended without a word was watched, and code of the message ran.
    const folder = box.open();
    folder.write("lives", JSON.stringify({ life: 2, marks: [], isWatched: true, host: "a" }));
    folder.write("now", `${String(SUBJECT.length).padStart(4, "0")}${SUBJECT}`);
    born(box);
  });

  afterEach(async () => {
    evidence.close();
    await store.close();
    await system.stop();
  });

  const rows = (): Promise<unknown[]> => store.scan(standingEnds, {});

  it("say once how the last life ended, however many subscribers they have and however often these look [Y601]", async () => {
    await Promise.all([ends.share(), ends.share()]);
    await ends.share();
    expect(await rows()).toMatchObject([{ host: "a", subject: SUBJECT, times: 1 }]);
    expect(await store.claims(SHARER_CLAIMS)).toHaveLength(1);
  });

  it("go on to say so when their claim is lost [Y602]", async () => {
    await ends.share();
    const [claim] = await store.claims(SHARER_CLAIMS);
    await store.revoke(claim?.name as string, claim?.token as number);
    await ends.share();
    expect(await rows()).toMatchObject([{ host: "a", times: 1 }]);
    evidence.begin(SUBJECT).progressed();
    await until(async () => (await rows()).length === 0);
  });
});
