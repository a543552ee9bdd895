// Counting children, as OTP's count_children does.

import type { Pid } from "../process/pid.js";
import type { ChildType } from "./child.js";
import type { ChildCounts } from "./ref.js";

export function countOf(
  children: readonly { readonly type: ChildType; readonly pid: Pid | undefined }[],
): ChildCounts {
  const supervisors = children.filter((child) => child.type === "supervisor").length;
  return {
    specs: children.length,
    active: children.filter((child) => child.pid !== undefined).length,
    supervisors,
    workers: children.length - supervisors,
  };
}
