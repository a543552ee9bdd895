// A device: it sends its readings over a connection to any node, and connects to the next node when that one is lost.

import { connect, type Socket } from "node:net";

export class Client {
  /** Commands the device received. */
  readonly commands: string[] = [];
  readonly #id: string;
  readonly #ports: readonly number[];
  #at: number;
  #socket: Socket | undefined;
  #answered: ((line: string | undefined) => void) | undefined;

  /** @param first - the port that it tries first, by its place in `ports` */
  constructor(id: string, ports: readonly number[], first: number) {
    this.#id = id;
    this.#ports = ports;
    this.#at = first;
  }

  /** Sends a reading until it is answered with `ok`. */
  async send(n: number, value: number): Promise<void> {
    for (;;) {
      const answer = await new Promise<string | undefined>((resolve) => {
        this.#answered = resolve;
        this.#socket ??= this.#connect();
        this.#socket.write(`${this.#id} ${n} ${value}\n`);
      });
      if (answer === `ok ${n}`) return;
    }
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connect(): Socket {
    const port = this.#ports[this.#at++ % this.#ports.length] as number;
    const socket = connect({ port, host: "127.0.0.1" }).setEncoding("latin1");
    let rest = "";
    socket.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.startsWith("do ")) this.commands.push(line.slice(3));
        else this.#answered?.(line);
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#socket = undefined;
      this.#answered?.(undefined);
    });
    return socket;
  }
}
