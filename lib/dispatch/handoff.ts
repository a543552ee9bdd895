// A bare payload on its way to a consumer that cannot acknowledge. Such a consumer cannot report the end of its work, so the
// envelope holds a slot until the handoff window is over.

import type { Kernel } from "../process/kernel.js";
import type { Member } from "./member.js";

export class Handoff {
  #held = true;
  readonly member: Member;
  readonly #kernel: Kernel;
  readonly #endsAt: number;

  constructor(member: Member, kernel: Kernel, windowMs: number) {
    this.member = member;
    this.#kernel = kernel;
    this.#endsAt = kernel.env.now() + windowMs;
    member.take();
  }

  /** The dispatch has ended. The consumer cannot be notified, so its slot is held until the window is over. */
  withdraw(): void {
    const { member } = this;
    const kernel = this.#kernel;
    kernel.shared?.process(member.pid, "read");
    if (member.pid.process === undefined) this.free();
    else kernel.addTimer(Math.max(0, this.#endsAt - kernel.env.now()), { fire: () => this.free() });
  }

  abort(): void {}

  free(): void {
    if (!this.#held) return;
    this.#held = false;
    this.member.free();
  }
}
