// A process whose thread hangs, while its host and its connections are well.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../../support/child-program.js";
import { describeNats, type NatsServer, startNats } from "../../../support/nats.js";
import { describePostgres, type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { proving } from "../../../support/proof.js";
import { Pair } from "./pair.js";

describe.runIf(proving)("two real processes, one of which hangs", () => {
  describePostgres("a node whose thread hangs", () => {
    describeNats("beside one that does not", () => {
      let program: ChildProgram;
      let nats: NatsServer;
      let postgres: PostgresServer;
      beforeAll(async () => {
        program = await childProgram(new URL("witness.ts", import.meta.url));
        [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
      });
      afterAll(async () => {
        program.remove();
        await Promise.all([nats.stop(), postgres.stop()]);
      });

      it("31: is lost to the others, although its host is well: what it had goes on elsewhere", async () => {
        await using pair = await Pair.begin({ program: program.args, nats, postgres, place: "hung" });
        const { near, far } = pair;
        // Nobody answers this.
        void far.ask("hang").catch(() => undefined);
        await near.sees(
          "the loss",
          ({ signals, ends, group, tokens }) =>
            signals.length === 2 && ends.length === 1 && group.join() === "near" && tokens.length === 1,
        );
        expect((await near.view()).ends).toEqual([
          { reply: "near", deliveredTo: "near", reroutedFrom: ["far"] },
        ]);
      });
    });
  });
});
