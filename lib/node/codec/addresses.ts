// Pids and reply addresses as words: the side of the node, the number of the process or call, and the label. Side 0 is the node that
// sends, and side 1 the node that receives. A third node is written with its name and id.

import { UnstorableValueError } from "../../host/payload/errors.js";
import type { Leaf } from "../../host/payload/survey.js";
import type { Kernel } from "../../process/kernel.js";
import { Pid, type RemoteNode } from "../../process/pid.js";
import { Request, replyAddress, requestOf } from "../../process/request.js";
import { actual, Via } from "../../process/via.js";
import type { ReplyAddress } from "../../process/wire-signal.js";

/** `0.17`, or `1.17 label`. */
const WORD = /^([01])\.(\d{1,16})(?: (.*))?$/s;

/** An address, and the label of the process if the word has one. */
interface Read {
  readonly node: RemoteNode;
  readonly id: number;
  readonly label: string | undefined;
}

/** The words of two nodes for processes. */
export class Addresses {
  readonly #kernel: Kernel;
  readonly #peer: RemoteNode;

  constructor(kernel: Kernel, peer: RemoteNode) {
    this.#kernel = kernel;
    this.#peer = peer;
  }

  /** The word for a number that a node gave. */
  #word(node: RemoteNode, id: number, label?: string): string {
    const side = node.id === this.#kernel.node.id ? 0 : node.id === this.#peer.id ? 1 : undefined;
    if (side === undefined) return JSON.stringify([node.name, node.id, id, label]);
    return label === undefined ? `${side}.${id}` : `${side}.${id} ${label}`;
  }

  /** @throws TypeError */
  #read(word: unknown): Read {
    if (typeof word !== "string") throw new TypeError("an address that is no text");
    if (word.startsWith("[")) return this.#foreign(JSON.parse(word));
    const [, side, digits, label] = WORD.exec(word) ?? [];
    if (side === undefined) throw new TypeError("a text that is no address");
    return { node: side === "0" ? this.#peer : this.#kernel.node, id: idOf(Number(digits)), label };
  }

  #foreign(parsed: unknown): Read {
    const [name, nodeId, id, label] = parsed as unknown[];
    const isText = typeof name === "string" && typeof nodeId === "string";
    if (!isText || (label !== null && label !== undefined && typeof label !== "string"))
      throw new TypeError("an address of another node that is none");
    return { node: { name, id: nodeId }, id: idOf(id), label: label ?? undefined };
  }

  /** The word for the reply address of a call. */
  replyWord(request: Request): string {
    const { node, ref } = this.#kernel.remote.replyAddress(replyAddress(request));
    return this.#word(node, ref);
  }

  /** @throws TypeError */
  reply(word: unknown): ReplyAddress {
    const { node, id } = this.#read(word);
    return { node, ref: id };
  }

  /** Reply addresses within values. The address of the call that is read now becomes its request. */
  replies(): Leaf & { call: Request | undefined } {
    const leaf: Leaf & { call: Request | undefined } = {
      call: undefined,
      wordOf: (object) => (object instanceof Request ? this.replyWord(object) : undefined),
      revive: (word) => {
        const address = this.reply(word);
        const own = leaf.call?.away;
        if (own !== undefined && own.ref === address.ref && own.node.id === address.node.id)
          return leaf.call as Request;
        return requestOf(this.#kernel.remote.replyAt(address));
      },
    };
    return leaf;
  }

  /** Pids within values. */
  readonly pids: Leaf = {
    wordOf: (object) => {
      if (!(object instanceof Pid)) return undefined;
      const pid = actual(object);
      if (pid instanceof Via)
        throw new UnstorableValueError("", `the address ${pid}, which no process has now`, "send a pid");
      const { node, id } = this.#kernel.remote.address(pid);
      return this.#word(node, id, pid.label);
    },
    revive: (word) => {
      const { node, id, label } = this.#read(word);
      return this.#kernel.remote.pid({ node, id }, label);
    },
  };
}

/** The number of a process, monitor, call or unlink. @throws TypeError */
export function idOf(id: unknown): number {
  if (!Number.isSafeInteger(id) || (id as number) < 0) throw new TypeError("a number that is none");
  return id as number;
}
