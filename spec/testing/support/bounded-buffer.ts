import type { Pid } from "signalbox";
import type { Simulation } from "signalbox/testing";

/** A bounded buffer: producers that wait for room, consumers that wait for goods. */
export async function boundedBuffer(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "shop" });
  const buffer: number[] = [];
  type Msg = { type: "put"; n: number; from: Pid<string> } | { type: "take"; from: Pid<string> };
  const puts: { n: number; from: Pid<string> }[] = [];
  const takes: Pid<string>[] = [];
  let log = "";
  const shelf = system.spawn<Msg>(
    {
      handle: (ctx, m) => {
        if (m.type === "put") puts.push(m);
        else takes.push(m.from);
        for (;;) {
          const put = puts[0];
          if (put !== undefined && buffer.length < 1) {
            puts.shift();
            buffer.push(put.n);
            log += `+${put.n}`;
            ctx.send(put.from, "ok");
          } else if (buffer.length > 0 && takes.length > 0) {
            const n = buffer.shift();
            log += `-${n}`;
            ctx.send(takes.shift() as Pid<string>, "got");
          } else break;
        }
      },
    },
    { label: "shelf" },
  );
  for (let p = 0; p < 2; p++)
    system.spawn<string>(
      async (ctx) => {
        for (let i = 0; i < 2; i++) {
          ctx.send(shelf, { type: "put", n: p * 2 + i, from: ctx.self });
          await ctx.receive();
        }
      },
      { label: `p${p}` },
    );
  for (let p = 0; p < 2; p++)
    system.spawn<string>(
      async (ctx) => {
        for (let i = 0; i < 2; i++) {
          ctx.send(shelf, { type: "take", from: ctx.self });
          await ctx.receive();
        }
      },
      { label: `c${p}` },
    );
  await sim.quiet();
  sim.state(() => log);
}
