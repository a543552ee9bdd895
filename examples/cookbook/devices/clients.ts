// Devices, each with a connection of its own. A reading is sent until it is answered with `ok`.

import { once } from "node:events";
import { connect } from "node:net";

/** How many devices connect at the same time. */
const AT_ONCE = 200;

/** Sends `readings` readings of each of `count` devices, one after the other. Resolves when all are answered. */
export async function send(port: number, count: number, readings: number): Promise<void> {
  let next = 0;
  const sockets = await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const mine = [];
      while (next < count) mine.push(await device(port, `meter-${next++}`));
      return mine;
    }),
  );
  // All are connected now.
  await Promise.all(sockets.flat().map((one) => one(readings)));
}

async function device(port: number, id: string): Promise<(readings: number) => Promise<void>> {
  const socket = connect({ port, host: "127.0.0.1" }).setEncoding("latin1");
  await once(socket, "connect");
  return async (readings) => {
    for (let n = 1; n <= readings; ) {
      socket.write(`${id} ${n} ${n * 10}\n`);
      const [answer] = await once(socket, "data");
      if (answer === `ok ${n}\n`) n++;
    }
    socket.end();
  };
}
