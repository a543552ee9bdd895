// The slot of an envelope that its consumer was sent bare. Such a consumer cannot say when it is done, so it counts as
// busy until the handoff window is over.

import type { Kernel } from "../process/kernel.js";
import type { Member } from "./member.js";

export class Handoff {
  private held = true;
  readonly member: Member;
  private readonly kernel: Kernel;
  private readonly endsAt: number;

  constructor(member: Member, kernel: Kernel, windowMs: number) {
    this.member = member;
    this.kernel = kernel;
    this.endsAt = kernel.env.now() + windowMs;
    member.take();
  }

  /** The dispatch has ended, and this consumer cannot be told: the window goes on without it. */
  withdraw(): void {
    const { kernel, member } = this;
    if (member.pid.process === undefined) this.free();
    else kernel.addTimer(Math.max(0, this.endsAt - kernel.env.now()), { fire: () => this.free() });
  }

  abort(): void {}

  free(): void {
    if (!this.held) return;
    this.held = false;
    this.member.free(this.kernel);
  }
}
