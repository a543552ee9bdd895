// The admin socket of a host or a service as a process. Each connection is a process of its own, linked to it.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import { ADMIN_DEFAULTS, type AdminLimits } from "./admin-limits.js";
import { type OpenSocket, openSocket, type Socket } from "./admin-socket.js";
import { connectionBehaviour } from "./connection-process.js";
import { type AdminService, Post } from "./post.js";

/** The options of an admin server. */
export interface AdminServerOptions {
  /** The path of its socket: see `socketPathOf`. */
  readonly path: string;
  readonly service: AdminService;
  readonly limits?: Partial<AdminLimits>;
}

/**
 * The server of an admin socket, for the tree of a host. It has started when it listens, or when another host of this program listens for
 * it; it stops by closing the socket, its connections, and the requests in flight.
 *
 * @throws AdminSocketError at its start
 */
export function adminServer(options: AdminServerOptions): Startable<readonly [], Pid> {
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: new Server(options) as Callbacks<never>,
      options: { label: "admin socket", trapExit: true },
      ref: (pid) => pid,
    }),
  };
}

const OPEN = { type: "open" } as const;

class Server implements Callbacks<typeof OPEN> {
  /** Without a parent, it ends after all other processes of its system: a stop that hangs can be looked at. */
  readonly isLast = true;
  readonly #path: string;
  readonly #service: AdminService;
  readonly #limits: AdminLimits;
  /** Whether each is idle; the one that has been as it is for longest comes first. */
  readonly #connections = new Map<Pid, boolean>();
  /** Connections that were sent a `shutdown` exit signal. */
  readonly #ending = new Set<Pid>();
  #post: Post | undefined;
  #opened: OpenSocket | undefined;

  constructor({ path, service, limits }: AdminServerOptions) {
    this.#path = path;
    this.#service = service;
    this.#limits = { ...ADMIN_DEFAULTS, ...limits };
  }

  async init(ctx: Context<typeof OPEN>): Promise<void> {
    let isFirst = false;
    let isJoined = false;
    const open = (): void => {
      if (isJoined) ctx.send(ctx.self, OPEN);
      else isFirst = true;
    };
    const { post, leave } = Post.join(this.#path, { service: this.#service, open });
    isJoined = true;
    this.#post = post;
    ctx.signal.addEventListener("abort", () => {
      this.#opened?.close();
      leave();
    });
    if (isFirst) await this.#open(ctx);
  }

  handle(ctx: Context<typeof OPEN>): Promise<void> {
    return this.#open(ctx);
  }

  async #open(ctx: Context<typeof OPEN>): Promise<void> {
    const accept = ctx.wrap((socket: Socket) => {
      // A socket that fails is closed, and its process listens for the close.
      socket.on("error", () => undefined);
      if (this.#hasRoom(ctx)) this.#connections.set(this.#connect(ctx, socket), true);
      else socket.destroy();
    });
    const opened = await openSocket(this.#path, accept);
    if (ctx.alive) this.#opened = opened;
    else opened.close();
  }

  // A connection that crashes is closed, reported by the system, and harms no other.
  signal(_ctx: Context<typeof OPEN>, signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    const isConnection = this.#connections.delete(signal.from) || this.#ending.delete(signal.from);
    return isConnection ? undefined : stop(signal.reason);
  }

  /** Idle connections do not block new ones: the one that is idle for longest is closed to make room. */
  #hasRoom(ctx: Context<typeof OPEN>): boolean {
    if (this.#connections.size < this.#limits.connections) return true;
    for (const [pid, isIdle] of this.#connections) {
      if (!isIdle) continue;
      this.#connections.delete(pid);
      this.#ending.add(pid);
      ctx.exit(pid, "shutdown");
      return true;
    }
    return false;
  }

  #connect(ctx: Context<typeof OPEN>, socket: Socket): Pid {
    const turned = (isIdle: boolean): void => {
      // Deleted first, so that it goes to the end.
      if (this.#connections.delete(pid)) this.#connections.set(pid, isIdle);
    };
    const behaviour = connectionBehaviour(socket, this.#post as Post, this.#limits, turned);
    const pid: Pid = ctx.spawnLink(behaviour, { label: "admin connection" });
    return pid;
  }
}
