// Decides which host answers at a socket. A program may have several hosts on one file, of flows and of pipelines: one
// of them has the socket open, and all answer at it. When that one ends, the next one opens the socket.

import type { AdminOperation, AdminOperations } from "./protocol.js";

/** A service that a host offers at its socket. */
export interface AdminService {
  /** Its subject: `flows`, `pipelines`, `queues` or `system`. */
  readonly name: string;
  /** Whether other hosts of this program may offer the same at this socket. */
  readonly shares: boolean;
  readonly operations: ReadonlyMap<string, AdminOperation>;
  /** Operations of other hosts of its program, as they are at each question. */
  readonly others?: AdminOperations;
}

interface Member {
  readonly service: AdminService;
  /** It has the socket from now on. */
  open(): void;
}

/** The posts of this program, by the paths of their sockets: a file belongs to the program, and not to one of its systems. */
const posts = new Map<string, Post>();

/** The services that are offered at one socket. */
export class Post implements AdminOperations {
  readonly #path: string;
  readonly #members: Member[] = [];
  readonly #operations = operationsIn(() => this.#members.map(({ service }) => service));

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * Offers a service at a socket. The first member opens the socket at once; a later one opens it when all members before have left. A
   * member that does not share a service that another one offers there tries to open the socket itself, and finds out whether it is free.
   */
  static join(path: string, member: Member): { readonly post: Post; leave(): void } {
    const there = posts.get(path);
    const { name, shares } = member.service;
    const offered = there === undefined ? [] : there.#members.map((one) => one.service.name);
    const isTaken = !shares && offered.includes(name);
    const post = isTaken || there === undefined ? new Post(path) : there;
    if (!isTaken) posts.set(path, post);
    post.#members.push(member);
    if (post.#members[0] === member) member.open();
    return { post, leave: () => post.#leave(member) };
  }

  #leave(member: Member): void {
    const at = this.#members.indexOf(member);
    if (at < 0) return;
    this.#members.splice(at, 1);
    const [next] = this.#members;
    if (next !== undefined) {
      if (at === 0) next.open();
    } else if (posts.get(this.#path) === this) posts.delete(this.#path);
  }

  get names(): readonly string[] {
    return this.#operations.names;
  }

  find(op: string): readonly AdminOperation[] {
    return this.#operations.find(op);
  }
}

/** The operations of services, as these are at each question. */
export function operationsIn(services: () => readonly AdminService[]): AdminOperations {
  return {
    get names() {
      const all = services().flatMap(({ operations, others }) => [
        ...operations.keys(),
        ...(others?.names ?? []),
      ]);
      return [...new Set(all)];
    },
    find: (op) => {
      const all = services().flatMap(({ operations, others }) => [
        ...[operations.get(op) ?? []].flat(),
        ...(others?.find(op) ?? []),
      ]);
      // A host may offer an operation itself, and be one of the others: then the later one says of which store it is.
      return [...new Map(all.map((one) => [one.run, one])).values()];
    },
  };
}
