// A node that leaves or stops while others hang: its end takes seconds, and leaves nothing that keeps the process alive.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Child, type ChildProgram, childProgram, type Ended } from "../../support/child-program.js";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { proving } from "../../support/proof.js";

/** Far more than the limits of a leave, for a busy machine; far less than a socket that gives up by itself takes. */
const SECONDS_MS = 30_000;

/** The end of a program. A leave that hangs fails here, with what the program printed, and not by the limit of the whole run. */
async function endOf(program: Child): Promise<Ended> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    const why = () => new Error(`it has not ended after ${SECONDS_MS} ms; it printed:\n${program.printed()}`);
    timer = setTimeout(() => reject(why()), SECONDS_MS);
  });
  try {
    return await Promise.race([program.ended, limit]);
  } finally {
    clearTimeout(timer);
  }
}

describeNats("the end of a node", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("../../support/programs/leaver.ts", import.meta.url));
  });
  afterAll(() => program.remove());

  const TROUBLES: readonly (readonly [string, (server: NatsServer) => unknown])[] = [
    ["while another node is stopped", () => undefined],
    ["while the server is stopped", (server) => server.signal("SIGSTOP")],
    ["while there is no server", (server) => server.kill()],
  ];
  const ENDS = ["leave", "stop"].flatMap((how) => TROUBLES.map(([what, strike]) => ({ how, what, strike })));
  // Each one starts three real processes: `npm test` has the leave beside a server that is stopped.
  const tried = ENDS.filter((_, i) => proving || i === 1);

  test.each(tried)(
    "by $how, $what, takes seconds, and leaves no socket and no timer [N1250]",
    async ({ how, strike }) => {
      await using server = await startNats();
      const other = program.start(server.address, "other", "stop");
      await other.prints("met");
      const node = program.start(server.address, "node", how, "2");
      await node.prints("met");
      other.signal("SIGSTOP");
      await strike(server);
      node.signal("SIGUSR2");
      // It ends by itself.
      const { code, stdout } = await endOf(node).finally(() => {
        other.signal("SIGKILL");
        node.signal("SIGKILL");
      });
      expect(code).toBe(0);
      expect(stdout).toContain("left: nothing, 0 timers");
      expect(Number(/ms: (\d+)/.exec(stdout)?.[1])).toBeLessThan(SECONDS_MS);
    },
  );
});
