// The subjects of a cluster over NATS. All begin with `signalbox.<cluster>.`, so that one permission covers them.
//
//   node.<id>               frames for the node with this id
//   from.<id>.<name>.<to>.<tag>
//                           the reply subject of frames from this node to the node `to`: it names the sender, and the server sends its
//                           notice there when nobody listens at the subject of the frame. The tag says to which epoch the frame belongs,
//                           so that a late notice ends no newer one
//   seen                    a node has joined, is here or leaves, or another one is lost
//   seen.<id>               the answers to the join of this node

import type { RemoteNode } from "../../process/pid.js";

/** The subjects of the frames from one node to another. */
export class Way {
  readonly node: RemoteNode;
  readonly subject: string;
  readonly #replies: string;
  #tag: string | undefined;
  #reply = "";

  constructor(node: RemoteNode, subject: string, replies: string) {
    this.node = node;
    this.subject = subject;
    this.#replies = replies;
  }

  /** The subject for the notice about the last frame. Undefined before the first frame. */
  get lastReply(): string | undefined {
    return this.#tag === undefined ? undefined : this.#reply;
  }

  /** Where the notice comes that nobody listens at the subject. @param tag - what says to which epoch the frame belongs */
  reply(tag: string): string {
    if (tag !== this.#tag) {
      this.#tag = tag;
      this.#reply = `${this.#replies}.${tokenOf(tag)}`;
    }
    return this.#reply;
  }
}

/** A frame at whose subject nobody listened. */
export interface LostFrame {
  /** The id of the node that it was for. */
  readonly id: string;
  readonly tag: string;
}

export class Subjects {
  /** The frames for this node. */
  readonly frames: string;
  /** The notices about frames of this node. */
  readonly notices: string;
  readonly seen: string;
  /** The answers to the join of this node. */
  readonly answers: string;
  readonly #prefix: string;
  readonly #from: string;
  readonly #reply: string;

  /** @param cluster - a name of letters, digits, `_` and `-` */
  constructor(cluster: string, here: RemoteNode) {
    this.#prefix = `signalbox.${cluster}`;
    this.#from = `${this.#prefix}.from.`;
    this.#reply = `${this.#from}${tokenOf(here.id)}.${tokenOf(here.name)}`;
    this.frames = `${this.#prefix}.node.${tokenOf(here.id)}`;
    this.notices = `${this.#reply}.*.*`;
    this.seen = `${this.#prefix}.seen`;
    this.answers = this.answersTo(here);
  }

  to(node: RemoteNode): Way {
    const token = tokenOf(node.id);
    return new Way(node, `${this.#prefix}.node.${token}`, `${this.#reply}.${token}`);
  }

  answersTo(node: RemoteNode): string {
    return `${this.#prefix}.seen.${tokenOf(node.id)}`;
  }

  /** The sender of a frame, by its reply subject. Undefined for any subject that no node of this cluster made. */
  senderOf(reply: string | undefined): RemoteNode | undefined {
    if (reply?.startsWith(this.#from) !== true) return undefined;
    const [id, name, to, tag, ...more] = reply.slice(this.#from.length).split(".").map(textOf);
    if (id === undefined || name === undefined || to === undefined || tag === undefined) return undefined;
    if (more.length > 0) return undefined;
    return { name, id };
  }

  /** The frame that a notice is about. */
  lostBy(subject: string): LostFrame | undefined {
    const [id, tag] = subject
      .slice(this.#reply.length + 1)
      .split(".")
      .map(textOf);
    return id === undefined || tag === undefined ? undefined : { id, tag };
  }
}

/** Any text that is not empty, as one token of a subject. Letters, digits, `_` and `-` stay as they are. */
function tokenOf(text: string): string {
  return encodeURIComponent(text).replace(
    /[.!~*'()]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function textOf(token: string): string | undefined {
  try {
    return token === "" ? undefined : decodeURIComponent(token);
  } catch {
    return undefined;
  }
}
